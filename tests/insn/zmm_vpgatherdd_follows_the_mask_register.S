/* SPDX-License-Identifier: MIT */
/* A 512-bit gather loads the elements of its mask register and clears it. */
# needs: avx512f
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu32 zmm1, [rip + indices]         # expect: L indices,64
    mov eax, 0b1000000000100101
    kmovw k1, eax
    vpgatherdd zmm0{k1}, [rbx + zmm1*4]     # expect: [i=10,-12,15,25] L data+4*i,4
    kmovw eax, k1
    same(eax, 0)
    vmovd eax, xmm0
    same(eax, 0x2b2a2928)
END
    .data
indices:
    .long 10, 11, -12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25
