/* SPDX-License-Identifier: MIT */
/* vmovdqu32 and vmovdqa32 with a mask load four bytes per set mask bit. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    mov eax, 0b1000000000010010
    kmovw k1, eax
    vmovdqu32 zmm0{k1}{z}, [rip + data + 1] # expect: [i=1,4,15] L data+1+4*i,4
    vmovdqu32 ymm1{k1}, [rip + data]        # expect: [i=1,4] L data+4*i,4
    vmovdqa32 xmm2{k1}, [rip + data]        # expect: [i=1] L data+4*i,4
    vpextrd eax, xmm2, 1
    same(eax, 0x07060504)
END
