/* SPDX-License-Identifier: MIT */
/* xsaveopt counts as xsave does, though it may leave components out. */
# needs: xsaveopt avx
#include "case.h"
CASE
    xor edx, edx
    mov eax, 7
    xsaveopt [rip + zeros]                  # expect: S zeros,832
    mov eax, 2
    xsaveopt64 [rip + zeros]                # expect: S zeros,576
    lea r11, [rip + zeros + 1024]
    mov eax, 6
    xsaveopt [r11]                          # expect: S zeros+1024,832
END
