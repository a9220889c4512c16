/* SPDX-License-Identifier: MIT */
/* The floating-point gathers with qword indices touch what the integer ones do. */
# needs: avx2
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovdqu ymm1, [rip + indices]           # expect: L indices,32
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherqps xmm0, [rbx + xmm1], xmm2     # expect: [i=0,16] L data+i,4
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherqps xmm0, [rbx + ymm1*4], xmm2   # expect: [i=0,16,-8,3] L data+4*i,4
    vpcmpeqd ymm2, ymm2, ymm2
    vgatherqpd ymm3, [rbx + ymm1*8], ymm2   # expect: [i=0,16,-8,3] L data+8*i,8
    vpextrd eax, xmm0, 3
    same(eax, 0x0f0e0d0c)
END
    .data
indices:
    .quad 0, 16, -8, 3
