/* SPDX-License-Identifier: MIT */
/* Arithmetic on 8, 16 and 32 bits of a base wraps there, and 32 bits clear the rest. */
#include "case.h"
CASE
    mov ebx, 0xfffffff8
    add ebx, 16
    mov al, [rbx + data]                    # expect: L data+8,1
    mov ebx, 0xfff8
    add bx, 16
    mov al, [rbx + data]                    # expect: L data+8,1
    mov ebx, 0xf8
    add bl, 16
    mov al, [rbx + data]                    # expect: L data+8,1
    mov rbx, -1
    inc ebx
    mov al, [rbx + data]                    # expect: L data,1
    dec bx
    sub ebx, 0xfffe
    mov al, [rbx + data]                    # expect: L data+1,1
    mov rbx, -8
    lea ebx, [rbx + 24]
    mov al, [rbx + data]                    # expect: L data+16,1
    lea bx, [rbx + 0xfff8]
    mov al, [rbx + data]                    # expect: L data+8,1
    mov rbx, -1
    mov ebx, ebx
    add rbx, 1
    shr rbx, 30
    mov al, [rbx + data]                    # expect: L data+4,1
    same(al, 4)
END
