/* SPDX-License-Identifier: MIT */
/* vpmovdb and its kin without a mask store a half, a quarter or an eighth of the vector. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    vpmovdb [rip + zeros], zmm0             # expect: S zeros,16
    vpmovqb [rip + zeros], xmm0             # expect: S zeros,2
    vpmovqd [rip + zeros + 16], ymm0        # expect: S zeros+16,16
    vpmovsdw [rip + zeros + 32], xmm0       # expect: S zeros+32,8
    vpmovwb [rip + zeros + 64], zmm0        # expect: S zeros+64,32
    vcvtps2ph [rip + zeros + 96], xmm0, 0   # expect: S zeros+96,8
CHECK
    same(dword ptr [rip + zeros], 0x0c080800)
END
