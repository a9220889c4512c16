/* SPDX-License-Identifier: MIT */
/* Pushes after and rsp go below the aligned stack pointer. */
#include "case.h"
CASE
    push 1                                  # expect: S stack-8,8
    push 2                                  # expect: S stack-16,8
    mov rbp, rsp
    and rsp, -64
    push rbp                                # expect: S stack-72,8
    mov [rsp - 8], rbp                      # expect: S stack-80,8
    and rsp, -32
    push 3                                  # expect: S stack-104,8
    mov rsp, rbp
    pop rax                                 # expect: L stack-16,8
    same(rax, 2)
END
