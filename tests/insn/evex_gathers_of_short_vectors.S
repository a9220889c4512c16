/* SPDX-License-Identifier: MIT */
/* EVEX gathers of xmm and ymm size use a mask register and the high vector registers. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu32 xmm17, [rip + indices]        # expect: L indices,16
    kxnorw k3, k3, k3
    vpgatherdd xmm16{k3}, [rbx + xmm17*4]   # expect: [i=1,0,-1,2] L data+4*i,4
    mov eax, 0b1110
    kmovw k3, eax
    vpgatherdq ymm16{k3}, [rbx + xmm17*8 + 8] # expect: [i=0,-1,2] L data+8+8*i,8
    mov eax, 0b11
    kmovw k3, eax
    vpgatherdq xmm16{k3}, [rbx + xmm17*8]   # expect: [i=1,0] L data+8*i,8
    kxnorw k3, k3, k3
    vgatherdps xmm16{k3}, [rbx + xmm17]     # expect: [i=1,0,-1,2] L data+i,4
    vmovd eax, xmm16
    same(eax, 0x04030201)
END
    .data
indices:
    .long 1, 0, -1, 2
