/* SPDX-License-Identifier: MIT */
/* A new gs base holds from the next instruction on, and can be read back. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    mov al, gs:1                            # expect: L data+1,1
    same(al, 1)
    set_base ARCH_SET_GS, data + 100
    mov al, gs:1                            # expect: L data+101,1
    same(al, 101)
    mov edi, ARCH_GET_GS
    lea rsi, [rip + zeros]
    mov eax, 158
    syscall
    same(rax, 0)
    mov rax, [rip + zeros]                  # expect: L zeros,8
    same(rax, offset data + 100)
END
