/* SPDX-License-Identifier: MIT */
/* Masked vector stores store the elements whose mask bit is set, and nothing else. */
# needs: avx512f avx512bw avx512vl
#include "case.h"
CASE
    vmovdqu64 zmm0, [rip + data]            # expect: L data,64
    mov eax, 0b100110
    kmovd k1, eax
    vmovdqu8 [rip + zeros]{k1}, zmm0        # expect: [i=1,2,5] S zeros+i,1
    vmovdqu16 [rip + zeros + 64]{k1}, ymm0  # expect: [i=1,2,5] S zeros+64+2*i,2
    vmovdqu32 [rip + zeros + 128]{k1}, xmm0 # expect: [i=1,2] S zeros+128+4*i,4
    vmovdqu64 [rip + zeros + 192]{k1}, zmm0 # expect: [i=1,2,5] S zeros+192+8*i,8
    vmovups [rip + zeros + 256]{k1}, zmm0   # expect: [i=1,2,5] S zeros+256+4*i,4
    vmovapd [rip + zeros + 320]{k1}, ymm0   # expect: [i=1,2] S zeros+320+8*i,8
CHECK
    same(dword ptr [rip + zeros], 0x00020100)
    same(dword ptr [rip + zeros + 136], 0x0b0a0908)
    same(dword ptr [rip + zeros + 140], 0)
END
