/* SPDX-License-Identifier: MIT */
/* A loop of a few thousand turns with many kinds of access ends with the right sums. */
#include "case.h"
CASE
    xor eax, eax
    mov r11d, 2000
    lea rbx, [rip + data]
    fill rdx, rsi, rdi, r8, r9, r10, r12, r13, r14, r15
turn:
    add rax, [rbx]                          # expect*2000: L data,8
    push r11                                # expect*2000: S stack-8,8
    add [rip + zeros], r11                  # expect*2000: M zeros,8
    call f                                  # expect*2000: S stack-16,8
    pop rcx                                 # expect*2000: L stack-8,8
    cmp rcx, r11
    jne fail
    dec r11
    jnz turn
    holds rdx, rsi, rdi, r8, r9, r10, r12, r13, r14, r15
    same(rsp, offset stack)
    jmp done
f:
    mov rbp, [rsp + 8]                      # expect*2000: L stack-8,8
    ret                                     # expect*2000: L stack-16,8
done:
    same(rbp, 1)
CHECK
    same(qword ptr [rip + zeros], 2001000)
END
