/* SPDX-License-Identifier: MIT */
/* A base that comes from a vector, mask or flag register points where the value says. */
# needs: sse4_1 avx512f
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov al, [rbx]                           # expect: L data,1
    add rbx, 8
    movq xmm0, rbx
    movd ebx, xmm0
    mov al, [rbx]                           # expect: L data+8,1
    pextrd ebx, xmm0, 0
    mov al, [rbx + 1]                       # expect: L data+9,1
    pcmpeqd xmm1, xmm1
    movmskps ebx, xmm1
    mov al, [rbx + data]                    # expect: L data+15,1
    pmovmskb ecx, xmm1
    mov al, [rcx + data - 0xff00]           # expect: L data+255,1
    cvttss2si ebx, xmm2
    mov al, [rbx + data + 5]                # expect: L data+5,1
    mov eax, 33
    kmovw k1, eax
    kmovw ebx, k1
    mov al, [rbx + data]                    # expect: L data+33,1
    mov ebx, 99
    xor eax, eax
    setz bl
    mov al, [rbx + data]                    # expect: L data+1,1
    fnstsw ax
    movzx eax, ax
    mov al, [rax + data + 2]                # expect: L data+2,1
    same(al, 2)
END
