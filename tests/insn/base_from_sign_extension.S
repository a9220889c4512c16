/* SPDX-License-Identifier: MIT */
/* cbw, cwde, cdqe, cwd, cqo and xlat give a base its new value. */
#include "case.h"
CASE
    mov eax, 0x80
    mov cl, [rax + data]                    # expect: L data+128,1
    cbw
    movzx eax, ax
    mov cl, [rax + data - 0xff00]           # expect: L data+128,1
    cwde
    mov ebx, 256
    add ebx, eax
    mov cl, [rbx + data]                    # expect: L data+128,1
    cdqe
    mov cl, [rax + data + 129]              # expect: L data+1,1
    cqo
    mov cl, [rdx + data + 3]                # expect: L data+2,1
    xor eax, eax
    cdq
    mov cl, [rdx + data + 3]                # expect: L data+3,1
    mov eax, 6
    lea rbx, [rip + data]
    xlatb                                   # expect: L data+6,1
    mov cl, [rax + data]                    # expect: L data+6,1
    same(cl, 6)
END
