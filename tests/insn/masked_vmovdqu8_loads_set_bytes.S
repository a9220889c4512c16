/* SPDX-License-Identifier: MIT */
/* vmovdqu8 with a mask loads one byte per set mask bit. */
# needs: avx512bw avx512vl
#include "case.h"
CASE
    movabs rax, 0x8000000000010009
    kmovq k1, rax
    vmovdqu8 zmm0{k1}{z}, [rip + data]      # expect: [i=0,3,16,63] L data+i,1
    vmovdqu8 ymm1{k1}, [rip + data]         # expect: [i=0,3,16] L data+i,1
    vmovdqu8 xmm2{k1}, [rip + data]         # expect: [i=0,3] L data+i,1
    vpextrb eax, xmm0, 3
    same(eax, 3)
    vpextrb eax, xmm0, 4
    same(eax, 0)
END
