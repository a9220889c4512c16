/* SPDX-License-Identifier: MIT */
/* A scatter stores the masked elements in ascending order, so the last of equal indices wins. */
# needs: avx512f
#include "case.h"
CASE
    lea r11, [rip + zeros + 64]
    vmovdqu32 zmm1, [rip + indices]         # expect: L indices,64
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    mov eax, 0b1100000000001011
    kmovw k1, eax
    vpscatterdd [r11 + zmm1*4]{k1}, zmm0    # expect: [i=3,0,-3,5,5] S zeros+64+4*i,4
    kmovw eax, k1
    same(eax, 0)
    same(r11, offset zeros + 64)
CHECK
    same(dword ptr [rip + zeros + 64 + 20], 0x3f3e3d3c)
    same(dword ptr [rip + zeros + 64 + 12], 0x03020100)
    same(dword ptr [rip + zeros + 64 - 12], 0x0f0e0d0c)
END
    .data
indices:
    .long 3, 0, 9, -3, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 5
