/* SPDX-License-Identifier: MIT */
/* A gather with no mask bit set touches nothing, though its addresses are wild. */
# needs: avx2 avx512f
#include "case.h"
CASE
    vpcmpeqd ymm1, ymm1, ymm1
    vpxor ymm2, ymm2, ymm2
    vpcmpeqd ymm0, ymm0, ymm0
    mov rbx, 8
    vpgatherdd ymm0, [rbx + ymm1*8], ymm2   # expect: none
    kxorw k1, k1, k1
    vpgatherdd zmm0{k1}, [rbx + zmm1*8]     # expect: none
    vpscatterdd [rbx + zmm1*8]{k1}, zmm0    # expect: none
    vmovd eax, xmm0
    same(eax, -1)
END
