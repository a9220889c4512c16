/* SPDX-License-Identifier: MIT */
/* A masked conversion loads source elements: half a vector of floats makes a vector of doubles. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    mov eax, 0b10000010
    kmovw k1, eax
    vcvtps2pd zmm0{k1}, [rip + zeros]       # expect: [i=1,7] L zeros+4*i,4
    vcvtpd2ps ymm1{k1}, [rip + zeros]       # expect: [i=1,7] L zeros+8*i,8
    vcvtdq2pd ymm2{k1}, [rip + zeros]       # expect: [i=1] L zeros+4*i,4
    vcvtdq2ps zmm3{k1}, [rip + zeros]       # expect: [i=1,7] L zeros+4*i,4
    vcvtph2ps zmm4{k1}, [rip + zeros]       # expect: [i=1,7] L zeros+2*i,2
    vcvtps2pd zmm0{k1}, [rip + zeros]{1to8} # expect: L zeros,4
END
