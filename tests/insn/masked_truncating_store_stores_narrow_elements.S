/* SPDX-License-Identifier: MIT */
/* vpmovdb and its kin store the narrow elements whose mask bit is set. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    mov eax, 0b1000000000000110
    kmovd k1, eax
    vpmovdb [rip + zeros]{k1}, zmm0         # expect: [i=1,2,15] S zeros+i,1
    vpmovqd [rip + zeros + 64]{k1}, zmm0    # expect: [i=1,2] S zeros+64+4*i,4
    vpmovqb [rip + zeros + 128]{k1}, ymm0   # expect: [i=1,2] S zeros+128+i,1
    vpmovuswb [rip + zeros + 192]{k1}, xmm0 # expect: [i=1,2] S zeros+192+i,1
    vcvtps2ph [rip + zeros + 256]{k1}, zmm0, 0 # expect: [i=1,2,15] S zeros+256+2*i,2
CHECK
    same(dword ptr [rip + zeros], 0x00080400)
    same(byte ptr [rip + zeros + 15], 60)
END
