/* SPDX-License-Identifier: MIT */
/* A mask register or vector that changed between two masked accesses is used as it is. */
# needs: avx512f avx2
#include "case.h"
CASE
    mov eax, 0b0110
    kmovw k1, eax
    vmovups zmm0{k1}, [rip + data]          # expect: [i=1,2] L data+4*i,4
    kshiftlw k1, k1, 2
    vmovups zmm0{k1}, [rip + data]          # expect: [i=3,4] L data+4*i,4
    knotw k1, k1
    vmovupd zmm0{k1}, [rip + data]          # expect: [i=0..2,5..7] L data+8*i,8
    vpxor xmm1, xmm1, xmm1
    vpgatherdd zmm0{k1}, [zmm1 + data]      # expect: [i=0..2,5..15] L data,4
    vmovups [rip + zeros]{k1}, zmm0         # expect: none
    vpcmpeqd xmm2, xmm2, xmm2
    vmaskmovps xmm0, xmm2, [rip + data]     # expect: [i=0..3] L data+4*i,4
    vpslldq xmm2, xmm2, 8
    vmaskmovps xmm0, xmm2, [rip + data]     # expect: [i=2..3] L data+4*i,4
END
