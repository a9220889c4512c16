/* SPDX-License-Identifier: MIT */
/* Masked floating-point arithmetic loads the elements whose mask bit is set. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    mov eax, 0b0101
    kmovw k1, eax
    vaddps ymm0{k1}, ymm0, [rip + ones]     # expect: [i=0,2] L ones+4*i,4
    vfmadd231ps zmm0{k1}, zmm0, [rip + ones] # expect: [i=0,2] L ones+4*i,4
    vmulpd xmm1{k1}{z}, xmm1, [rip + zeros] # expect: [i=0] L zeros+8*i,8
    vsqrtps xmm2{k1}, [rip + ones]          # expect: [i=0,2] L ones+4*i,4
    vmovd eax, xmm2
    same(eax, 0x3f800000)
END
    .data
    .balign 64
ones:
    .rept 16
    .float 1.0
    .endr
