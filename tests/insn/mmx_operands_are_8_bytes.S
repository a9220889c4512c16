/* SPDX-License-Identifier: MIT */
/* MMX operations load 8 bytes; the low unpacks load 4. */
# needs: ssse3
#include "case.h"
CASE
    movq mm0, [rip + data]                  # expect: L data,8
    paddb mm0, [rip + data + 8]             # expect: L data+8,8
    pshufb mm0, [rip + zeros]               # expect: L zeros,8
    punpckhbw mm0, [rip + zeros]            # expect: L zeros,8
    punpcklbw mm0, [rip + zeros]            # expect: L zeros,4
    punpckldq mm1, [rip + data]             # expect: L data,4
    psllw mm0, [rip + zeros]                # expect: L zeros,8
    pinsrw mm1, [rip + data + 2], 3         # expect: L data+2,2
    cvtpi2ps xmm0, [rip + zeros]            # expect: L zeros,8
    movq rax, mm1
    emms
    same_q(rax, 0x0302010000000000)
END
