/* SPDX-License-Identifier: MIT */
/* An instruction that does not suppress faults loads its broadcast element under any mask. */
# needs: avx512f avx512vl
#include "case.h"
CASE
    kxorw k1, k1, k1
    vpermd zmm0{k1}, zmm1, [rip + data]{1to16} # expect: L data,4
    vpermt2q ymm0{k1}, ymm1, [rip + data]{1to4} # expect: L data,8
    vshufps xmm0{k1}, xmm1, [rip + data]{1to4}, 0 # expect: L data,4
    vpunpckhqdq zmm0{k1}, zmm1, [rip + data]{1to8} # expect: L data,8
    vpshufd zmm0{k1}, [rip + data]{1to16}, 0 # expect: L data,4
END
