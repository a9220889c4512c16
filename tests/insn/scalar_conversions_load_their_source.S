/* SPDX-License-Identifier: MIT */
/* Scalar conversions load 4 or 8 bytes. */
# needs: avx
#include "case.h"
CASE
    cvtsi2sd xmm0, dword ptr [rip + seven]  # expect: L seven,4
    cvtsi2ss xmm1, qword ptr [rip + seven]  # expect: L seven,8
    cvtss2sd xmm2, [rip + zeros]            # expect: L zeros,4
    cvtsd2ss xmm2, [rip + zeros]            # expect: L zeros,8
    movsd [rip + zeros + 8], xmm0           # expect: S zeros+8,8
    cvttsd2si rax, [rip + zeros + 8]        # expect: L zeros+8,8
    cvtss2si ecx, [rip + zeros]             # expect: L zeros,4
    vcvtsi2sd xmm3, xmm3, qword ptr [rip + seven] # expect: L seven,8
    same(rax, 7)
END
    .data
seven:
    .quad 7
