/* SPDX-License-Identifier: MIT */
/* Scatters with mixed index and data sizes and vector lengths store one element per index. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    lea rbx, [rip + zeros + 64]
    vmovdqu64 zmm1, [rip + indices]         # expect: L indices,64
    vmovdqu ymm2, [rip + dwords]            # expect: L dwords,32
    kxnorw k1, k1, k1
    vpscatterqq [rbx + zmm1*8]{k1}, zmm0    # expect: [i=1,0,-1,2,-2,3,-3,4] S zeros+64+8*i,8
    kxnorw k1, k1, k1
    vpscatterqd [rbx + zmm1*4]{k1}, ymm0    # expect: [i=1,0,-1,2,-2,3,-3,4] S zeros+64+4*i,4
    kxnorw k1, k1, k1
    vpscatterdq [rbx + xmm2*8]{k1}, ymm0    # expect: [i=1,0,-1,2] S zeros+64+8*i,8
    kxnorw k1, k1, k1
    vpscatterqd [rbx + xmm1*4]{k1}, xmm0    # expect: [i=1,0] S zeros+64+4*i,4
    kxnorw k1, k1, k1
    vscatterdps [rbx + ymm2]{k1}, ymm0      # expect: [i=1,0,-1,2,-2,3,-3,5] S zeros+64+i,4
    mov eax, 0b10
    kmovw k1, eax
    vscatterqpd [rbx + xmm1*2]{k1}, xmm0    # expect: S zeros+64,8
    mov eax, 0xfff3
    kmovw k1, eax
    vscatterdpd [rbx + ymm2*4]{k1}, zmm0    # expect: [i=1,0,-2,3,-3,5] S zeros+64+4*i,8
    mov eax, 0xf8
    kmovw k1, eax
    vscatterqps [rbx + zmm1]{k1}, ymm0      # expect: [i=2,-2,3,-3,4] S zeros+64+i,4
END
    .data
indices:
    .quad 1, 0, -1, 2, -2, 3, -3, 4
dwords:
    .long 1, 0, -1, 2, -2, 3, -3, 5
