/* SPDX-License-Identifier: MIT */
/* movbe loads and stores 2, 4 or 8 bytes. */
# needs: movbe
#include "case.h"
CASE
    movbe ax, [rip + data + 2]              # expect: L data+2,2
    same(ax, 0x0203)
    movbe ecx, [rip + data + 4]             # expect: L data+4,4
    same(ecx, 0x04050607)
    movbe rdx, [rip + data + 8]             # expect: L data+8,8
    same_q(rdx, 0x08090a0b0c0d0e0f)
    movbe [rip + zeros], ax                 # expect: S zeros,2
    movbe [rip + zeros + 4], ecx            # expect: S zeros+4,4
    movbe [rip + zeros + 8], rdx            # expect: S zeros+8,8
CHECK
    same(dword ptr [rip + zeros + 4], 0x07060504)
END
