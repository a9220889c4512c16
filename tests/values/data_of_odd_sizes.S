/* SPDX-License-Identifier: MIT */
/* 10, 14 and 28 bytes take several pieces, the last of which are not zero; a vector that crosses a word; every byte of an element that a mask leaves out is another. */
    .intel_syntax noprefix
    .data
    .balign 64
data:
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .byte \n * 7 + 1
    .endr
place:
    .fill 256, 1, 0x5a
    .text
    .globl _start
_start:
    fninit
    fnstenv [rip + place]
    mov rax, 0x1234567876543210
    mov [rip + place + 12], rax
    mov [rip + place + 20], rax
    fldenv [rip + place]
    .byte 0x66; fnstenv [rip + place]
    mov [rip + place + 6], rax
    .byte 0x66; fldenv [rip + place]
    fninit
    fld tbyte ptr [rip + data]
    fbstp tbyte ptr [rip + place + 64]
    movups xmm1, [rip + data + 3]
    paddb xmm1, [rip + data]
    movups [rip + place + 5], xmm1
    movhps [rip + place + 40], xmm1
    movlps xmm1, [rip + place + 5]
    movd [rip + place + 80], xmm1
    pextrw [rip + place + 90], xmm1, 3
    mov eax, 0x80ff7f01
    mov [rip + place + 100], al
    mov [rip + place + 101], ah
    mov [rip + place + 102], ax
    movsx ecx, byte ptr [rip + place + 101]
    movzx edx, word ptr [rip + place + 101]
    mov cl, [rip + data + 9]
    mov ch, [rip + data + 10]
    mov dx, [rip + data + 11]
    mov byte ptr [rip + place + 110], -3
    mov qword ptr [rip + place + 112], -5
    push -7
    push 0x12345678
    pushw 0x4321
    popw [rip + place + 120]
    pop [rip + place + 128]
    pop rbx
    mov r11, 0x1122334455667788
    mov [rip + place + 136], r11
    xchg r11, [rip + place + 128]
    lock xadd [rip + place + 136], r11
    mov rax, [rip + place + 136]
    lock cmpxchg [rip + place + 136], r11
    lock cmpxchg [rip + place + 136], r11
    lock xadd [rip + place + 140], bx
    cmpxchg [rip + place + 141], bl
    xchg [rip + place + 142], bh
    mov edi, 60
    xchg eax, edi
    xor edi, edi
    syscall
