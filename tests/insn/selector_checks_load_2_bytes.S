/* SPDX-License-Identifier: MIT */
/* verr, verw, lar and lsl with memory load a selector of 2 bytes. */
#include "case.h"
CASE
    mov [rip + zeros], ss                   # expect: S zeros,2
    verr [rip + zeros]                      # expect: L zeros,2
    jnz fail
    verw [rip + zeros]                      # expect: L zeros,2
    jnz fail
    lar eax, [rip + zeros]                  # expect: L zeros,2
    jnz fail
    lsl ecx, [rip + zeros]                  # expect: L zeros,2
    jnz fail
    same(ecx, -1)
END
