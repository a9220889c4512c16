/* SPDX-License-Identifier: MIT */
/* Bit counts and conflicts of the later AVX-512 sets follow the mask. */
# needs: avx512_bitalg avx512_vpopcntdq avx512cd avx512vl
#include "case.h"
CASE
    mov eax, 0b1000010
    kmovd k1, eax
    vpopcntb xmm0{k1}, [rip + data]         # expect: [i=1,6] L data+i,1
    vpopcntw ymm0{k1}, [rip + data]         # expect: [i=1,6] L data+2*i,2
    vpopcntd zmm0{k1}, [rip + data]         # expect: [i=1,6] L data+4*i,4
    vpopcntq zmm0{k1}, [rip + data]         # expect: [i=1,6] L data+8*i,8
    vplzcntd ymm0{k1}, [rip + data]         # expect: [i=1,6] L data+4*i,4
END
