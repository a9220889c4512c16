/* SPDX-License-Identifier: MIT */
/* Without a mask register an EVEX move is one access of the vector's size. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    vmovdqu8 zmm16, [rip + data]            # expect: L data,64
    vmovdqu16 [rip + zeros], ymm16          # expect: S zeros,32
    vmovups xmm17, [rip + data + 64]        # expect: L data+64,16
    vmovaps [rip + zeros + 64], zmm16       # expect: S zeros+64,64
    vmovntps [rip + zeros + 128], zmm16     # expect: S zeros+128,64
    vmovd eax, xmm17
    same(eax, 0x43424140)
END
