/* SPDX-License-Identifier: MIT */
/* An fs override adds its base to each address of a gather. */
# needs: avx2
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
BEGIN
    mov ebx, 8
    vmovdqu xmm1, [rip + indices]           # expect: L indices,16
    vpcmpeqd xmm2, xmm2, xmm2
    vpgatherdd xmm0, fs:[rbx + xmm1*4], xmm2 # expect: [i=1,-1,0,2] L data+8+4*i,4
    vmovd eax, xmm0
    same(eax, 0x0f0e0d0c)
END
    .data
indices:
    .long 1, -1, 0, 2
