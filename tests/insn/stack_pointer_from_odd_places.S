/* SPDX-License-Identifier: MIT */
/* rsp written by unusual instructions is where the next push counts from. */
# needs: sse4_1 bmi2
#include "case.h"
CASE
    lea rax, [rip + stack - 64]
    movq xmm0, rax
    movq rsp, xmm0
    push 1                                  # expect: S stack-72,8
    add rax, 32
    pinsrq xmm0, rax, 1
    pextrq rsp, xmm0, 1
    push 2                                  # expect: S stack-40,8
    bswap rsp
    bswap rsp
    push 3                                  # expect: S stack-48,8
    not rsp
    not rsp
    push 4                                  # expect: S stack-56,8
    mov ecx, 16
    xadd rsp, rcx
    push 5                                  # expect: S stack-48,8
    movsxd rsp, esp
    push 6                                  # expect: S stack-56,8
    rorx rsp, rsp, 8
    rorx rsp, rsp, 56
    push 7                                  # expect: S stack-64,8
    imul rsp, rsp, 1
    push 8                                  # expect: S stack-72,8
    lea rdx, [rip + stack]
    test rdx, rdx
    cmovz rsp, rdx
    push 9                                  # expect: S stack-80,8
    cmovnz rsp, rdx
    push 10                                 # expect: S stack-8,8
END
