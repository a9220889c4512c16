/* SPDX-License-Identifier: MIT */
/* A masked widening move loads the narrow elements whose mask bit is set. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    mov eax, 0b1000000000000110
    kmovd k1, eax
    vpmovzxbd zmm0{k1}{z}, [rip + data]     # expect: [i=1,2,15] L data+i,1
    vpmovsxbq zmm1{k1}, [rip + data]        # expect: [i=1,2] L data+i,1
    vpmovzxwd ymm2{k1}, [rip + data]        # expect: [i=1,2] L data+2*i,2
    vpmovsxdq xmm3{k1}, [rip + data]        # expect: [i=1] L data+4*i,4
    vpmovzxbw xmm4{k1}, [rip + data]        # expect: [i=1,2] L data+i,1
    vpextrd eax, xmm0, 2
    same(eax, 2)
END
