/* SPDX-License-Identifier: MIT */
/* Each instruction says how often it runs, its name, and which registers it reads > and writes: by Intel's manual, and by the name of
 * the widest register around each. Conditional reads and writes count, and so do those of addresses. */
    .globl _start
    .bss
    .balign 64
area:
    .skip 4096
    .text
_start:
    mov $3, %ecx                        # 1 mov > rcx
    lea area(%rip), %rbx                # 1 lea > rbx
    lea 64(%rbx,%rcx,8), %rsi           # 1 lea rbx rcx > rsi
again:
    mov %al, 1(%rbx)                    # 3 mov rax rbx >
    movzbl 1(%rbx,%rcx), %edx           # 3 movzx rbx rcx > rdx
    add %dx, %r8w                       # 3 add rdx r8 > r8 rflags
    add $1, %r9                         # 3 add r9 > r9 rflags
    adc %ah, %dh                        # 3 adc rax rdx rflags > rdx rflags
    xor %r10d, %r10d                    # 3 xor r10 > r10 rflags
    cmp %r9, (%rsi)                     # 3 cmp r9 rsi > rflags
    cmovg %r9, %rdi                     # 3 cmovnle r9 rflags > rdi
    setne %r11b                         # 3 setnz rflags > r11
    push %r12                           # 3 push r12 rsp > rsp
    pop %r13                            # 3 pop rsp > r13 rsp
    call 1f                             # 3 call rsp > rsp
    dec %ecx                            # 3 dec rcx > rcx rflags
    jnz again                           # 3 jnz rflags >
    jmp on                              # 1 jmp >
1:  ret                                 # 3 ret rsp > rsp
on:
    mov $7, %eax                        # 1 mov > rax
    cltd                                # 1 cdq rax > rdx
    mov $2, %r14d                       # 1 mov > r14
    idiv %r14d                          # 1 idiv r14 rax rdx > rax rdx rflags
    mul %r14                            # 1 mul r14 rax > rax rdx rflags
    imul %r14, %r15                     # 1 imul r14 r15 > r15 rflags
    shl %cl, %rdx                       # 1 shl rcx rdx > rdx rflags
    xchg %rax, %rbp                     # 1 xchg rax rbp > rax rbp
    lock cmpxchg %r14, (%rbx)           # 1 cmpxchg r14 rbx rax > rax rflags
    cld                                 # 1 cld > rflags
    mov %rbx, %rdi                      # 1 mov rbx > rdi
    mov $5, %ecx                        # 1 mov > rcx
    rep movsb                           # 1 movsb rcx rsi rdi rflags > rcx rsi rdi
    scasb                               # 1 scasb rax rdi rflags > rdi rflags
    cmpsb                               # 1 cmpsb rsi rdi rflags > rsi rdi rflags
    xlat                                # 1 xlat rax rbx > rax
    cpuid                               # 1 cpuid rax rcx > rax rbx rcx rdx
    lea area(%rip), %rbx                # 1 lea > rbx
    mov $2, %ecx                        # 1 mov > rcx
2:  loop 2b                             # 2 loop rcx > rcx
    jrcxz 3f                            # 1 jrcxz rcx >
3:  jmp *4f(%rip)                       # 1 jmp >
5:  mov %fs, %eax                       # 1 mov fs > rax
    movdqu (%rbx), %xmm1                # 1 movdqu rbx > zmm1
    paddb %xmm1, %xmm2                  # 1 paddb zmm1 zmm2 > zmm2
    movd %xmm2, %eax                    # 1 movd zmm2 > rax
    pmovmskb %xmm2, %edx                # 1 pmovmskb zmm2 > rdx
    cvtsi2sd %rax, %xmm3                # 1 cvtsi2sd rax zmm3 > zmm3
    ucomisd %xmm3, %xmm4                # 1 ucomisd zmm3 zmm4 > rflags
    movsd %xmm3, 8(%rbx)                # 1 movsd zmm3 rbx >
    mov $231, %eax                      # 1 mov > rax
    xor %edi, %edi                      # 1 xor rdi > rdi rflags
    syscall                             # 1 syscall > rcx r11 rflags
    .data
4:  .quad 5b
