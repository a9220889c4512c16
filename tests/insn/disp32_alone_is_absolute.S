/* SPDX-License-Identifier: MIT */
/* A displacement with neither base nor index is an absolute address. */
#include "case.h"
CASE
    mov ecx, ds:[data + 16]                 # expect: L data+16,4
    same(ecx, 0x13121110)
    mov ds:[zeros + 4], ecx                 # expect: S zeros+4,4
    add dword ptr ds:[zeros + 4], 1         # expect: M zeros+4,4
CHECK
    same(dword ptr ds:[zeros + 4], 0x13121111)
END
