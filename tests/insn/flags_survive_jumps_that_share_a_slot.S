/* SPDX-License-Identifier: MIT */
/* Flags survive a jump to code that shares the low bits of its address with code that reads none. */
#include "case.h"
CASE
    mov ebp, 3
again:
    lea rbx, [rip + reads_none]
    jmp rbx
back:
    lea rbx, [rip + reads_all]
    cmp ebx, ebx
    stc
    jmp rbx
    .balign 0x40000, 0
reads_none:
    xor eax, eax
    jmp back
    .balign 0x40000, 0
reads_all:
    pushfq                                  # expect*3: S stack-8,8
    pop rax                                 # expect*3: L stack-8,8
    and eax, FLAGS
    same(eax, (CF | PF | ZF))
    dec ebp
    jnz again
END
