/* SPDX-License-Identifier: MIT */
/* Code that uses no stack runs with rsp pointing nowhere: branches, system calls, accesses. */
#include "case.h"
CASE
    mov esp, 8
    mov ecx, 3
turn:
    mov al, [rcx + data]                    # expect*3: L data+3-n,1
    loop turn
    lea rbx, [rip + there]
    jmp rbx
there:
    lea r11, [rip + again]
    jmp [rip + table]                       # expect: L table,8
again:
    add r11, [rip + data]                   # expect: L data,8
    mov eax, 39
    syscall
    mov rsp, -1
    xor eax, eax
    jz done
    ud2                                     # never
done:
    same(rsp, -1)
    lea rsp, [rip + stack]
    push rax                                # expect: S stack-8,8
END
    .data
table:
    .quad again
