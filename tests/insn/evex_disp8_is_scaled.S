/* SPDX-License-Identifier: MIT */
/* The 8-bit displacement of an EVEX instruction counts in units of its operand. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    lea rbx, [rip + data]
    vmovups zmm0, [rbx + 64]                # expect: L data+64,64
    vmovups zmm0, [rbx - 128]               # expect: L data-128,64
    vmovdqu32 xmm16, [rbx + 32]             # expect: L data+32,16
    vpaddd zmm0, zmm0, [rbx + 8]{1to16}     # expect: L data+8,4
    vmovss xmm16, [rbx + 12]                # expect: L data+12,4
    vpmovzxbd zmm1, [rbx + 16]              # expect: L data+16,16
    vmovd eax, xmm16
    same(eax, 0x0f0e0d0c)
    vmovd eax, xmm1
    same(eax, 16)
END
