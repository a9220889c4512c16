/* SPDX-License-Identifier: MIT */
/* vmaskmovps and vpmaskmovq with no mask bit set touch nothing, wherever they point. */
# needs: avx avx2
#include "case.h"
CASE
    mov ebx, 16
    vpxor ymm1, ymm1, ymm1
    vmaskmovps ymm0, ymm1, [rbx]            # expect: none
    vmaskmovpd [rbx], xmm1, xmm0            # expect: none
    vpmaskmovq ymm0, ymm1, [rbx]            # expect: none
    vpmaskmovd [rbx], ymm1, ymm0            # expect: none
END
