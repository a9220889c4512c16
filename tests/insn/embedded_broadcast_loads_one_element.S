/* SPDX-License-Identifier: MIT */
/* An embedded broadcast loads one element if any mask bit in range is set, else nothing. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    vpaddd zmm0, zmm0, [rip + data]{1to16}  # expect: L data,4
    vpaddq zmm0, zmm0, [rip + data + 8]{1to8} # expect: L data+8,8
    mov eax, 0b1000000000000000
    kmovw k1, eax
    vpaddd zmm0{k1}, zmm0, [rip + data]{1to16} # expect: L data,4
    vpaddd ymm0{k1}, ymm0, [rip + data]{1to8} # expect: none
    vpaddq zmm0{k1}, zmm0, [rip + data]{1to8} # expect: none
    mov eax, 0b10
    kmovw k1, eax
    vpaddq xmm0{k1}, xmm0, [rip + data]{1to2} # expect: L data,8
    vmovd eax, xmm0
    same(eax, 0x03020100 + 0x0b0a0908)
END
