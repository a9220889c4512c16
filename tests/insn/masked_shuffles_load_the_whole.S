/* SPDX-License-Identifier: MIT */
/* Shuffles, unpacks, packs and aligns do not suppress faults: the whole operand is loaded. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    mov eax, 0b0100
    kmovd k1, eax
    vpshufb zmm0{k1}, zmm0, [rip + data]    # expect: L data,64
    vpshufd ymm0{k1}, [rip + data], 0       # expect: L data,32
    vshufps xmm0{k1}, xmm0, [rip + data], 0 # expect: L data,16
    vpunpckldq zmm0{k1}, zmm0, [rip + data] # expect: L data,64
    vpackssdw ymm0{k1}, ymm0, [rip + data]  # expect: L data,32
    vpalignr zmm0{k1}, zmm0, [rip + data], 1 # expect: L data,64
    valignd zmm0{k1}, zmm0, [rip + data], 1 # expect: L data,64
    vmovddup xmm0{k1}, [rip + data]         # expect: L data,8
    vinserti32x4 zmm0{k1}, zmm0, [rip + data], 1 # expect: L data,16
END
