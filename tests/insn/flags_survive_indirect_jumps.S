/* SPDX-License-Identifier: MIT */
/* Every setting of the flags survives jumps through a register and through memory. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    lea rbx, [rip + one]
    jmp rbx
two:
    lea r11, [rip + three]
    jmp r11
one:
    jmp [rip + table]                       # expect*128: L table,8
three:
    lea rbx, [rip + table]
    jmp [rbx + 8]                           # expect*128: L table+8,8
four:
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
    .data
table:
    .quad two, four
