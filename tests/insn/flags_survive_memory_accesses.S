/* SPDX-License-Identifier: MIT */
/* Every setting of the flags survives loads and stores of every form. */
# needs: bmi2 movbe
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    mov rbx, [rip + data]                   # expect*128: L data,8
    mov [rip + zeros], rbx                  # expect*128: S zeros,8
    lea r11, [rip + data]
    mov r11, [r11 + 8]                      # expect*128: L data+8,8
    mov ecx, 4
    mov r11b, [rcx*8 + data]                # expect*128: L data+32,1
    push r11                                # expect*128: S stack-8,8
    pop r11                                 # expect*128: L stack-8,8
    mov [rsp - 8], r11                      # expect*128: S stack-8,8
    xchg rbx, [rip + zeros]                 # expect*128: M zeros,8
    movups xmm0, [rip + data]               # expect*128: L data,16
    not qword ptr [rip + zeros]             # expect*128: M zeros,8
    mov al, fs:[data]                       # expect*128: L data,1
    movbe ebx, [rip + data]                 # expect*128: L data,4
    bswap rbx
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
