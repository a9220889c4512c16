/* SPDX-License-Identifier: MIT */
/* Every setting of the flags, DF included, survives a chain of direct jumps. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    jmp one
three:
    jmp four
two:
    {disp32} jmp three
one:
    jmp two
four:
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
