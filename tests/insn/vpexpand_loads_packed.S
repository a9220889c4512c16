/* SPDX-License-Identifier: MIT */
/* vpexpand loads as many packed elements as mask bits are set. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    mov eax, 0b1000000010001010
    kmovw k1, eax
    vpexpandd zmm0{k1}{z}, [rip + data]     # expect: [i=0..3] L data+4*i,4
    vpexpandq zmm1{k1}{z}, [rip + data]     # expect: [i=0..2] L data+8*i,8
    vexpandps xmm2{k1}, [rip + data]        # expect: [i=0..1] L data+4*i,4
    vexpandpd ymm3{k1}, [rip + data]        # expect: [i=0..1] L data+8*i,8
    vpextrd eax, xmm0, 1
    same(eax, 0x03020100)
    vpextrd eax, xmm0, 3
    same(eax, 0x07060504)
END
