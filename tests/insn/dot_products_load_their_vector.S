/* SPDX-License-Identifier: MIT */
/* The VNNI and bf16 dot products load a vector, or elements under a mask. */
# needs: avx512_vnni avx512_bf16 avx512vl
#include "case.h"
CASE
    mov eax, 0b101
    kmovw k1, eax
    vpdpbusd zmm0, zmm1, [rip + data]       # expect: L data,64
    vpdpbusd ymm0{k1}, ymm1, [rip + data]   # expect: [i=0,2] L data+4*i,4
    vpdpwssd xmm0, xmm1, [rip + data]{1to4} # expect: L data,4
    vdpbf16ps zmm0{k1}, zmm1, [rip + zeros] # expect: [i=0,2] L zeros+4*i,4
END
