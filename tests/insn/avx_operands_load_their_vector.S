/* SPDX-License-Identifier: MIT */
/* Three-operand AVX instructions load 16 or 32 bytes, scalar ones 4 or 8. */
# needs: avx2 fma
#include "case.h"
CASE
    lea r11, [rip + zeros]
    vaddps ymm0, ymm1, [r11]                # expect: L zeros,32
    vaddss xmm0, xmm1, [r11]                # expect: L zeros,4
    vfmadd132ps ymm0, ymm1, [r11]           # expect: L zeros,32
    vfmadd213sd xmm0, xmm1, [r11]           # expect: L zeros,8
    vpaddq xmm0, xmm1, [r11]                # expect: L zeros,16
    vblendvps ymm0, ymm1, [r11], ymm2       # expect: L zeros,32
    vpermilps ymm0, [r11], 0                # expect: L zeros,32
    vpermd ymm0, ymm1, [r11]                # expect: L zeros,32
    vtestps ymm0, [r11]                     # expect: L zeros,32
    vpsravd ymm0, ymm1, [r11]               # expect: L zeros,32
    vzeroupper                              # expect: none
    vzeroall                                # expect: none
    same(r11, offset zeros)
END
