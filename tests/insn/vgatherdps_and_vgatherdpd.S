/* SPDX-License-Identifier: MIT */
/* The floating-point gathers with dword indices touch what the integer ones do. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu ymm1, [rip + indices]           # expect: L indices,32
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherdps xmm0, [rbx + xmm1], xmm2     # expect: [i=0,16,8,-8] L data+i,4
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherdps ymm0, [rbx + ymm1], ymm2     # expect: [i=0,16,8,-8,4,4,100,-100] L data+i,4
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherdpd xmm0, [rbx + xmm1*8], xmm2   # expect: [i=0,16] L data+8*i,8
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherdpd ymm0, [rbx + xmm1*8], ymm2   # expect: [i=0,16,8,-8] L data+8*i,8
    vmovq rax, xmm0
    same_q(rax, 0x0706050403020100)
END
    .data
indices:
    .long 0, 16, 8, -8, 4, 4, 100, -100
