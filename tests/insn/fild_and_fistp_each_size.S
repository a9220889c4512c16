/* SPDX-License-Identifier: MIT */
/* fild, fist, fistp and fisttp move integers of 2, 4 and 8 bytes. */
# needs: pni
#include "case.h"
CASE
    fild word ptr [rip + data]              # expect: L data,2
    fild dword ptr [rip + data + 4]         # expect: L data+4,4
    fild qword ptr [rip + data + 8]         # expect: L data+8,8
    fistp qword ptr [rip + zeros]           # expect: S zeros,8
    fist dword ptr [rip + zeros + 8]        # expect: S zeros+8,4
    fisttp dword ptr [rip + zeros + 12]     # expect: S zeros+12,4
    fist word ptr [rip + zeros + 16]        # expect: S zeros+16,2
    fisttp word ptr [rip + zeros + 18]      # expect: S zeros+18,2
    fld1
    fisttp qword ptr [rip + zeros + 24]     # expect: S zeros+24,8
    fld1
    fistp word ptr [rip + zeros + 32]       # expect: S zeros+32,2
CHECK
    same_q([rip + zeros], 0x0f0e0d0c0b0a0908)
    same(dword ptr [rip + zeros + 8], 0x07060504)
    same(dword ptr [rip + zeros + 16], 0x01000100)
    same(qword ptr [rip + zeros + 24], 1)
END
