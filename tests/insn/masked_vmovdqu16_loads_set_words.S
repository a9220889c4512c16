/* SPDX-License-Identifier: MIT */
/* vmovdqu16 with a mask loads two bytes per set mask bit. */
# needs: avx512bw avx512vl
#include "case.h"
CASE
    mov eax, 0x80010204
    kmovd k1, eax
    vmovdqu16 zmm0{k1}{z}, [rip + data]     # expect: [i=2,9,16,31] L data+2*i,2
    vmovdqu16 ymm1{k1}, [rip + data]        # expect: [i=2,9] L data+2*i,2
    vmovdqu16 xmm2{k1}, [rip + data]        # expect: [i=2] L data+2*i,2
    vpextrw eax, xmm0, 2
    same(eax, 0x0504)
END
