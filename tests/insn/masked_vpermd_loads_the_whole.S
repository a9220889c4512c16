/* SPDX-License-Identifier: MIT */
/* vpermd does not suppress faults: under a mask, even zero, the whole operand is loaded. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    mov eax, 0b0100
    kmovd k1, eax
    kxorw k2, k2, k2
    vpermd zmm0{k1}, zmm1, [rip + data]     # expect: L data,64
    vpermq ymm0{k1}, [rip + data], 0x1b     # expect: L data,32
    vpermd ymm0{k2}, ymm1, [rip + data]     # expect: L data,32
    vpermw zmm0{k1}, zmm1, [rip + data]     # expect: L data,64
    vpermt2d xmm0{k1}, xmm1, [rip + data]   # expect: L data,16
END
