/* SPDX-License-Identifier: MIT */
/* The count of a masked vector shift is 16 bytes under any mask; the shifted operand is not. */
# needs: avx512f avx512bw
#include "case.h"
CASE
    mov eax, 0b0100
    kmovd k1, eax
    kxorw k2, k2, k2
    vpsrld zmm0{k1}, zmm0, [rip + zeros]    # expect: L zeros,16
    vpsllw zmm0{k2}, zmm0, [rip + zeros]    # expect: L zeros,16
    vpsrld zmm0{k1}, [rip + data], 4        # expect: [i=2] L data+4*i,4
    vpsraq zmm0{k2}, [rip + data], 4        # expect: none
END
