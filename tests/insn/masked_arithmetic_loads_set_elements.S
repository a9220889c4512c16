/* SPDX-License-Identifier: MIT */
/* Masked arithmetic with a memory operand loads the elements whose mask bit is set. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    lea r11, [rip + data]
    mov eax, 0b10000010
    kmovd k1, eax
    vpaddd zmm0{k1}, zmm0, [r11 + 64]       # expect: [i=1,7] L data+64+4*i,4
    vpaddb xmm1{k1}{z}, xmm1, [r11]         # expect: [i=1,7] L data+i,1
    vpmullw ymm1{k1}, ymm1, [r11]           # expect: [i=1,7] L data+2*i,2
    vpandq zmm2{k1}, zmm2, [r11]            # expect: [i=1,7] L data+8*i,8
    vpsrlvd ymm3{k1}, ymm3, [r11]           # expect: [i=1,7] L data+4*i,4
    vpternlogd xmm4{k1}, xmm4, [r11], 0x1e  # expect: [i=1] L data+4*i,4
    vblendmps zmm5{k1}, zmm5, [r11]         # expect: [i=1,7] L data+4*i,4
    vpextrd eax, xmm0, 1
    same(eax, 0x47464544)
END
