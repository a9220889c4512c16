/* SPDX-License-Identifier: MIT */
/* call m loads the target and stores the return address. */
#include "case.h"
CASE
    lea rbx, [rip + table]
    call [rbx + 8]                          # expect: L table+8,8 ; S stack-8,8
    mov ecx, 2
    call [rbx + rcx*8]                      # expect: L table+16,8 ; S stack-8,8
    call [rip + table + 8]                  # expect: L table+8,8 ; S stack-8,8
    same(eax, 21)
    jmp done
one:
    inc eax
    ret                                     # expect*2: L stack-8,8
ten:
    add eax, 19
    ret                                     # expect: L stack-8,8
done:
    same(rsp, offset stack)
END
    .data
table:
    .quad 0, one, ten
