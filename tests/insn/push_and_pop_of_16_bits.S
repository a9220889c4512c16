/* SPDX-License-Identifier: MIT */
/* push and pop with an operand-size prefix move the stack pointer by 2. */
#include "case.h"
CASE
    mov eax, 0x12345678
    push ax                                 # expect: S stack-2,2
    same(rsp, offset stack - 2)
    pushw 0x1234                            # expect: S stack-4,2
    pushw 5                                 # expect: S stack-6,2
    pushw [rip + data + 2]                  # expect: L data+2,2 ; S stack-8,2
    popw [rip + zeros]                      # expect: L stack-8,2 ; S zeros,2
    pop cx                                  # expect: L stack-6,2
    pop cx                                  # expect: L stack-4,2
    same(cx, 0x1234)
    pop cx                                  # expect: L stack-2,2
    same(cx, 0x5678)
    same(rsp, offset stack)
CHECK
    same(word ptr [rip + zeros], 0x0302)
END
