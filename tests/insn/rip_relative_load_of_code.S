/* SPDX-License-Identifier: MIT */
/* A rip-relative load can read the instruction's own bytes and those before it. */
#include "case.h"
CASE
    jmp after
constant:
    .quad 0x1122334455667788
after:
    mov rax, [rip + constant]               # expect: L constant,8
own:
    mov cl, [rip + own]                     # expect: L own,1
    same_q(rax, 0x1122334455667788)
    same(cl, 0x8a)
END
