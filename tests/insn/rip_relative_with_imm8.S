/* SPDX-License-Identifier: MIT */
/* The bytes of an 8-bit immediate lie between the displacement and the rip it counts from. */
#include "case.h"
CASE
    mov byte ptr [rip + zeros], 0x5a        # expect: S zeros,1
    add dword ptr [rip + data + 4], 1       # expect: M data+4,4
    cmp qword ptr [rip + data + 8], -1      # expect: L data+8,8
    imul eax, [rip + data + 16], 3          # expect: L data+16,4
    test byte ptr [rip + data + 20], 4      # expect: L data+20,1
    shr word ptr [rip + data + 32], 4       # expect: M data+32,2
    pshufd xmm0, [rip + data + 48], 0       # expect: L data+48,16
    same(eax, 0x13121110 * 3)
    movd ecx, xmm0
    same(ecx, 0x33323130)
CHECK
    same(byte ptr [rip + zeros], 0x5a)
    same(dword ptr [rip + data + 4], 0x07060505)
    same(word ptr [rip + data + 32], 0x0212)
END
