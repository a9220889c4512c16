/* SPDX-License-Identifier: MIT */
/* fst and fstp store 4, 8 or 10 bytes. */
#include "case.h"
CASE
    fld1
    fst dword ptr [rip + zeros]             # expect: S zeros,4
    fst qword ptr [rip + zeros + 8]         # expect: S zeros+8,8
    fstp tbyte ptr [rip + zeros + 16]       # expect: S zeros+16,10
    fld1
    fstp dword ptr [rsp - 4]                # expect: S stack-4,4
CHECK
    same(dword ptr [rip + zeros], 0x3f800000)
    same(word ptr [rip + zeros + 24], 0x3fff)
    same(word ptr [rip + zeros + 26], 0)
END
