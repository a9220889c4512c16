/* SPDX-License-Identifier: MIT */
/* A masked vextract does not suppress faults: the store is of the whole part. */
# needs: avx512f avx512dq
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    mov eax, 0b10
    kmovw k1, eax
    vextracti32x4 [rip + zeros], zmm0, 3    # expect: S zeros,16
    vextracti32x4 [rip + zeros + 64]{k1}, zmm0, 3 # expect: S zeros+64,16
    vextractf64x4 [rip + zeros + 128]{k1}, zmm0, 1 # expect: S zeros+128,32
CHECK
    same(dword ptr [rip + zeros], 0x33323130)
    same(dword ptr [rip + zeros + 64], 0)
    same(dword ptr [rip + zeros + 68], 0x37363534)
END
