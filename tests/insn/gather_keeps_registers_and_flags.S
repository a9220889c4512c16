/* SPDX-License-Identifier: MIT */
/* A gather keeps the registers that are not its operands, and the flags. */
# needs: avx2
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    vpxor xmm1, xmm1, xmm1
    vpcmpeqd xmm2, xmm2, xmm2
    vpcmpeqd xmm3, xmm3, xmm3
    stc
    vpgatherdd xmm0, [xmm1*8 + data], xmm2  # expect: [i=0,0,0,0] L data+i,4
    jnc fail
    holds rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    vpmovmskb eax, xmm3
    same(eax, 0xffff)
    vpmovmskb eax, xmm1
    same(eax, 0)
END
