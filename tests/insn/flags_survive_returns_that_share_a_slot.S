/* SPDX-License-Identifier: MIT */
/* Flags survive a return to code that shares the low bits of its address with code that reads none. */
#include "case.h"
CASE
    mov ebp, 3
    jmp again
    .balign 0x40000, 0
again:
    call f                                  # expect*3: S stack-8,8
    xor eax, eax
    jmp on
    .balign 0x40000, 0
on:
    call f                                  # expect*3: S stack-8,8
    pushfq                                  # expect*3: S stack-8,8
    pop rax                                 # expect*3: L stack-8,8
    and eax, FLAGS
    same(eax, (CF | PF | ZF))
    dec ebp
    jnz again
    jmp done
f:
    cmp eax, eax
    stc
    ret                                     # expect*6: L stack-8,8
done:
END
