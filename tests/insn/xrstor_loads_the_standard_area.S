/* SPDX-License-Identifier: MIT */
/* xrstor of a standard-form area loads the size for the components asked for. */
# needs: xsave avx
#include "case.h"
CASE
    vmovups ymm7, [rip + data]              # expect: L data,32
    xor edx, edx
    mov eax, 7
    xsave [rip + zeros]                     # expect: S zeros,832
    vpxor xmm7, xmm7, xmm7
    mov eax, 2
    xrstor [rip + zeros]                    # expect: L zeros,576
    mov eax, 7
    xrstor [rip + zeros]                    # expect: L zeros,832
    mov eax, 4
    xrstor64 [rip + zeros]                  # expect: L zeros,832
    vextractf128 xmm6, ymm7, 1
    movd eax, xmm6
    same(eax, 0x13121110)
END
