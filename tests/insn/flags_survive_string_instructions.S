/* SPDX-License-Identifier: MIT */
/* Every setting of the flags, DF included, survives moving strings. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    lea rsi, [rip + data + 64]
    lea rdi, [rip + zeros + 64]
    mov ecx, 2
    # DF is set in the executions that have bit 5 of n clear.
    # expect*128: [i=0,1] L data+64+i*(n//32%2*16-8),8 ; S zeros+64+i*(n//32%2*16-8),8
    rep movsq
    lodsb                                   # expect*128: L data+64+(n//32%2*32-16),1
    stosb                                   # expect*128: S zeros+64+(n//32%2*32-16),1
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
