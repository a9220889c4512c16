/* SPDX-License-Identifier: MIT */
/* A base register changed by an instruction that does not name it moves the next access. */
#include "case.h"
CASE
    lea rdx, [rip + data]
    mov al, [rdx]                           # expect: L data,1
    mov eax, 3
    mov ecx, 5
    mul ecx
    mov bl, [rdx + data + 1]                # expect: L data+1,1
    mov bl, [rax + data]                    # expect: L data+15,1
    lea rsi, [rip + data]
    lodsb                                   # expect: L data,1
    mov bl, [rsi]                           # expect: L data+1,1
    mov rax, -1
    cqo
    mov bl, [rdx + data + 4]                # expect: L data+3,1
    mov ecx, 2
    mov bl, [rcx + data]                    # expect: L data+2,1
    loop next
next:
    mov bl, [rcx + data]                    # expect: L data+1,1
    mov eax, 17
    xor edx, edx
    mov ecx, 5
    div ecx
    mov bl, [rax + data]                    # expect: L data+3,1
    mov bl, [rdx + data]                    # expect: L data+2,1
    xor eax, eax
    mov [rip + zeros], al                   # expect: S zeros,1
    lahf
    movzx eax, ah
    and eax, ZF
    mov bl, [rax + data]                    # expect: L data+64,1
    same(bl, 64)
END
