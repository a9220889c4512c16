/* SPDX-License-Identifier: MIT */
/* vmovdqu64 and vmovapd with a mask load eight bytes per set mask bit. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    mov eax, 0b1111111110000101
    kmovw k2, eax
    vmovdqu64 zmm0{k2}{z}, [rip + data]     # expect: [i=0,2,7] L data+8*i,8
    vmovdqu64 ymm1{k2}, [rip + data]        # expect: [i=0,2] L data+8*i,8
    vmovapd xmm2{k2}, [rip + data]          # expect: [i=0] L data+8*i,8
    vmovq rax, xmm0
    same_q(rax, 0x0706050403020100)
END
