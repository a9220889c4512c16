/* SPDX-License-Identifier: MIT */
/* A compare under a writemask loads the elements whose mask bit is set. */
# needs: avx512f avx512bw
#include "case.h"
CASE
    mov eax, 0b1001
    kmovd k2, eax
    vpcmpd k1{k2}, zmm0, [rip + zeros], 0   # expect: [i=0,3] L zeros+4*i,4
    kmovw eax, k1
    same(eax, 0b1001)
    vpcmpub k1{k2}, zmm0, [rip + data], 0   # expect: [i=0,3] L data+i,1
    kmovq rax, k1
    same(rax, 1)
    vcmppd k1{k2}, zmm0, [rip + zeros], 0   # expect: [i=0,3] L zeros+8*i,8
    vptestmd k1{k2}, zmm0, [rip + data]     # expect: [i=0,3] L data+4*i,4
END
