/* SPDX-License-Identifier: MIT */
/* pop gs loads 8 bytes, and the program's registers and later accesses are as before. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    push gs                                 # expect: S stack-8,8
    pop gs                                  # expect: L stack-8,8
    mov gs, [rip + zeros]                   # expect: L zeros,2
    jmp there
there:
    push rax                                # expect: S stack-8,8
    mov [rip + zeros + 64], r11             # expect: S zeros+64,8
    holds rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
END
