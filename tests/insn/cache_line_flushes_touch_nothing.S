/* SPDX-License-Identifier: MIT */
/* clflush, clflushopt and clwb touch nothing. */
# needs: clflushopt clwb
#include "case.h"
CASE
    mov eax, 7
    mov [rip + zeros], eax                  # expect: S zeros,4
    clflush [rip + zeros]                   # expect: none
    clflushopt [rip + zeros]                # expect: none
    clwb [rip + zeros]                      # expect: none
    lea r11, [rip + zeros]
    clflush [r11]                           # expect: none
    mfence
    mov ecx, [rip + zeros]                  # expect: L zeros,4
    same(ecx, 7)
END
