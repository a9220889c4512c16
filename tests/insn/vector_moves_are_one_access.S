/* SPDX-License-Identifier: MIT */
/* Moves of xmm and ymm registers are one access of 16 or 32 bytes, aligned or not. */
# needs: avx pni
#include "case.h"
CASE
    movaps xmm0, [rip + data]               # expect: L data,16
    movupd xmm1, [rip + data + 3]           # expect: L data+3,16
    movdqa [rip + zeros], xmm0              # expect: S zeros,16
    movdqu [rip + zeros + 17], xmm1         # expect: S zeros+17,16
    lddqu xmm2, [rip + data + 5]            # expect: L data+5,16
    vmovaps ymm3, [rip + data]              # expect: L data,32
    vmovdqu ymm4, [rip + data + 60]         # expect: L data+60,32
    vmovups [rip + zeros + 64], ymm4        # expect: S zeros+64,32
    vlddqu ymm5, [rip + data + 1]           # expect: L data+1,32
    movd eax, xmm2
    same(eax, 0x08070605)
CHECK
    same(dword ptr [rip + zeros + 64], 0x3f3e3d3c)
END
