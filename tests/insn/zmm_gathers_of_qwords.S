/* SPDX-License-Identifier: MIT */
/* 512-bit gathers with mixed index and data sizes touch eight elements. */
# needs: avx512f
#include "case.h"
CASE
    lea r11, [rip + data]
    vmovdqu64 zmm1, [rip + indices]         # expect: L indices,64
    vmovdqu ymm2, [rip + dwords]            # expect: L dwords,32
    kxnorw k1, k1, k1
    vpgatherqq zmm0{k1}, [r11 + zmm1*8]     # expect: [i=1,0,-1,2,-2,3,-3,4] L data+8*i,8
    kxnorw k1, k1, k1
    vpgatherdq zmm0{k1}, [r11 + ymm2*8]     # expect: [i=1,0,-1,2,-2,3,-3,5] L data+8*i,8
    kxnorw k1, k1, k1
    vpgatherqd ymm0{k1}, [r11 + zmm1*4]     # expect: [i=1,0,-1,2,-2,3,-3,4] L data+4*i,4
    mov eax, 0x81
    kmovw k2, eax
    vgatherqpd zmm0{k2}, [r11 + zmm1*8]     # expect: [i=1,4] L data+8*i,8
    mov eax, 0xff00
    kmovw k2, eax
    vgatherdpd zmm0{k2}, [r11 + ymm2*8]     # expect: none
    mov eax, 0xff0c
    kmovw k2, eax
    vgatherqps ymm0{k2}, [r11 + zmm1*4]     # expect: [i=-1,2] L data+4*i,4
    same(r11, offset data)
END
    .data
indices:
    .quad 1, 0, -1, 2, -2, 3, -3, 4
dwords:
    .long 1, 0, -1, 2, -2, 3, -3, 5
