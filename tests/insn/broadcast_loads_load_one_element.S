/* SPDX-License-Identifier: MIT */
/* Broadcast loads load their one element, whatever the vector. */
# needs: avx2 avx512f avx512bw avx512dq avx512vl
#include "case.h"
CASE
    vpbroadcastb xmm0, [rip + data + 5]     # expect: L data+5,1
    vpbroadcastw ymm1, [rip + data + 6]     # expect: L data+6,2
    vpbroadcastd zmm2, [rip + data + 8]     # expect: L data+8,4
    vpbroadcastq ymm3, [rip + data + 16]    # expect: L data+16,8
    vbroadcastss ymm4, [rip + data]         # expect: L data,4
    vbroadcastsd ymm4, [rip + data]         # expect: L data,8
    vbroadcastf128 ymm5, [rip + data]       # expect: L data,16
    vbroadcasti32x2 zmm5, [rip + data]      # expect: L data,8
    vbroadcasti32x4 zmm6, [rip + data]      # expect: L data,16
    vbroadcastf64x4 zmm7, [rip + data]      # expect: L data,32
    vpextrb eax, xmm0, 15
    same(eax, 5)
    vextracti128 xmm1, ymm1, 1
    vpextrw eax, xmm1, 7
    same(eax, 0x0706)
END
