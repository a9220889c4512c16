/* SPDX-License-Identifier: MIT */
/* A masked broadcast load loads its element if any mask bit in range is set. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    mov eax, 0x8000
    kmovd k1, eax
    vbroadcastss zmm0{k1}, [rip + data]     # expect: L data,4
    vbroadcastss ymm0{k1}, [rip + data]     # expect: none
    vpbroadcastb xmm1{k1}{z}, [rip + data + 5] # expect: L data+5,1
    vpbroadcastw xmm1{k1}{z}, [rip + data]  # expect: none
    vbroadcastsd zmm2{k1}, [rip + data]     # expect: none
    vbroadcastf32x4 zmm2{k1}, [rip + data]  # expect: L data,16
    vbroadcastf32x4 ymm2{k1}, [rip + data]  # expect: none
END
