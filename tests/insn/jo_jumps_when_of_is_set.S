/* SPDX-License-Identifier: MIT */
/* jo jumps when OF is set, jno when not; short and near. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 31
    mov r12d, CF | PF | ZF | SF | OF
each:
    pdep eax, ebp, r12d
    push rax                                # expect*32: S stack-8,8
    popfq                                   # expect*32: L stack-8,8
    seto bl
    jo first_taken
    mov al, [rip + data]                    # expect*16: L data,1
    jmp second
first_taken:
    mov al, [rip + data + 1]                # expect*16: L data+1,1
second:
    {disp32} jno second_taken
    mov cl, [rip + data + 1]                # expect*16: L data+1,1
    jmp join
second_taken:
    mov cl, [rip + data]                    # expect*16: L data,1
join:
    same(al, bl)
    same(cl, bl)
    dec ebp
    jns each
END
