/* SPDX-License-Identifier: MIT */
/* Registers written by cpuid, xgetbv, rdtscp and lsl are known anew. */
# needs: xsave rdtscp
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov dl, [rbx]                           # expect: L data,1
    xor eax, eax
    xor ecx, ecx
    cpuid
    lea rsi, [rip + data]
    sub rsi, rbx
    mov r8b, [rbx + rsi]                    # expect: L data,1
    lea rsi, [rip + data + 1]
    sub rsi, rcx
    mov r8b, [rcx + rsi]                    # expect: L data+1,1
    rdtscp
    lea rsi, [rip + data + 2]
    sub rsi, rax
    mov r8b, [rax + rsi]                    # expect: L data+2,1
    lea rsi, [rip + data + 3]
    sub rsi, rdx
    mov r8b, [rdx + rsi]                    # expect: L data+3,1
    xor ecx, ecx
    xgetbv
    mov r8b, [rdx + data]                   # expect: L data,1
    and eax, 3
    mov r8b, [rax + data]                   # expect: L data+3,1
    mov ecx, ss
    mov r8b, [rcx + data]                   # expect: L data+0x2b,1
    same(r8b, 0x2b)
END
