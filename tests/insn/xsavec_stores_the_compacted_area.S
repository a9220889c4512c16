/* SPDX-License-Identifier: MIT */
/* xsavec stores 576 bytes and the components asked for, packed. */
# needs: xsavec avx512f
#include "case.h"
CASE
    xor edx, edx
    mov eax, 3
    xsavec [rip + zeros]                    # expect: S zeros,576
    mov eax, 7
    xsavec [rip + zeros]                    # expect: S zeros,832
    mov eax, 0xe0
    xsavec [rip + zeros]                    # expect: S zeros,2176
    mov eax, 0x40
    xsavec64 [rip + zeros]                  # expect: S zeros,1088
    mov eax, 0xe7
    xsavec [rip + zeros]                    # expect: S zeros,2432
END
