/* SPDX-License-Identifier: MIT */
/* Vector loads, gathers and masked accesses work through gs. */
# needs: avx2 avx512f
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    mov ebx, 16
    movups xmm0, gs:[rbx]                   # expect: L data+16,16
    movd eax, xmm0
    same(eax, 0x13121110)
    vpxor xmm1, xmm1, xmm1
    vpcmpeqd xmm2, xmm2, xmm2
    vpgatherdd xmm0, gs:[rbx + xmm1*4], xmm2 # expect: [i=0..3] L data+16,4
    vpcmpeqd xmm2, xmm2, xmm2
    vmaskmovps gs:[rbx + 48], xmm2, xmm1    # expect: [i=0..3] S data+64+4*i,4
    mov eax, 0b101
    kmovw k1, eax
    vmovups zmm3{k1}, gs:[64]               # expect: [i=0,2] L data+64+4*i,4
    vpscatterdd gs:[rbx + xmm1]{k1}, xmm1   # expect: [i=0,2] S data+16,4
    mov edi, 128
    pcmpeqd xmm4, xmm4
    .byte 0x65; maskmovdqu xmm1, xmm4       # expect: [i=0..15] S data+128+i,1
CHECK
    same(qword ptr [rip + data + 64], 0)
    same(dword ptr [rip + data + 16], 0)
END
