/* SPDX-License-Identifier: MIT */
/* movddup loads 8 bytes, 32 for a ymm; movshdup and movsldup load the whole. */
# needs: avx pni
#include "case.h"
CASE
    movddup xmm0, [rip + data + 8]          # expect: L data+8,8
    vmovddup ymm1, [rip + data]             # expect: L data,32
    movshdup xmm2, [rip + data]             # expect: L data,16
    vmovsldup ymm3, [rip + data]            # expect: L data,32
    pextrd eax, xmm0, 3
    same(eax, 0x0f0e0d0c)
END
