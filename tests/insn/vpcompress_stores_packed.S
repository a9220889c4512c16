/* SPDX-License-Identifier: MIT */
/* vpcompress stores its set elements packed, and nothing beyond them. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    mov eax, 0b1000000010001010
    kmovw k1, eax
    vpcompressd [rip + zeros]{k1}, zmm0     # expect: [i=0..3] S zeros+4*i,4
    vpcompressq [rip + zeros + 64]{k1}, zmm0 # expect: [i=0..2] S zeros+64+8*i,8
    vcompressps [rip + zeros + 128]{k1}, xmm0 # expect: [i=0..1] S zeros+128+4*i,4
    vcompresspd [rip + zeros + 192]{k1}, ymm0 # expect: [i=0..1] S zeros+192+8*i,8
CHECK
    same(dword ptr [rip + zeros], 0x07060504)
    same(dword ptr [rip + zeros + 12], 0x3f3e3d3c)
    same(dword ptr [rip + zeros + 16], 0)
END
