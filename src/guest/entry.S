/* SPDX-License-Identifier: MIT */
/* The ways into the guest from emitted code, and the ways back. Everything here runs between two of the program's
 * instructions: every register, flag and byte of stack is the program's and comes back as it was. */
#include "wire/layout.h"

#define REG(n) %gs:T_REGS + 8 * n

/* Entry points as offsets from the blob's start; the host adds the address it mapped it at. */
    .section .head, "ax"
    .globl guest_head
    .type guest_head, @object /* not code: the disassembler need not guess */
guest_head:
    .ascii "GAITGUST"
    .long WIRE_VERSION
    .long guest_start - guest_head
    .long guest_exit - guest_head
    .long guest_gate - guest_head
    .long guest_state - guest_head
    .long guest_indirect - guest_head
    .long guest_landing - guest_head
    .long guest_syscall - guest_head
    .long guest_stale - guest_head
    .long guest_tell - guest_head
    .long call_returned - guest_head
    .long guest_remote - guest_head
    .size guest_head, . - guest_head

    .text

/* Registers to the thread block, then the guest's own stack and clean flags (DF and AC may be set). */
.macro save
    mov %rax, REG(0)
    mov %rcx, REG(1)
    mov %rdx, REG(2)
    mov %rbx, REG(3)
    mov %rsp, REG(4)
    mov %rbp, REG(5)
    mov %rsi, REG(6)
    mov %rdi, REG(7)
    mov %r8, REG(8)
    mov %r9, REG(9)
    mov %r10, REG(10)
    mov %r12, REG(12)
    mov %r13, REG(13)
    mov %r14, REG(14)
    mov %r15, REG(15)
    movq $0, %gs:T_INSIDE
    own_stack
    pushfq
    popq %gs:T_FLAGS
    pushq $2
    popfq
.endm

.macro own_stack
    mov %gs:T_SELF, %rsp
    lea T_STACK_TOP(%rsp), %rsp
    mov %gs:T_SELF, %rdi
.endm

.macro load_registers
    pushq %gs:T_FLAGS
    popfq
    mov REG(0), %rax
    mov REG(1), %rcx
    mov REG(2), %rdx
    mov REG(3), %rbx
    mov REG(5), %rbp
    mov REG(6), %rsi
    mov REG(7), %rdi
    mov REG(8), %r8
    mov REG(9), %r9
    mov REG(10), %r10
    mov REG(12), %r12
    mov REG(13), %r13
    mov REG(14), %r14
    mov REG(15), %r15
.endm

/* The first entry: the host has filled the thread block. */
guest_start:
    own_stack
    call on_start
    jmp resume

/* An exit that is not linked; r11 = exit id, the record pointer is already saved. */
guest_exit:
    mov %r11, %gs:T_REASON
    save
    call on_exit
    jmp resume

/* The gate is closed; r11 = its struct gate. */
guest_gate:
    mov %r11, %gs:T_REASON
    save
    call on_gate
    jmp resume

/* The unit's code is not what was translated; r11 = its struct gate. */
guest_stale:
    mov %r11, %gs:T_REASON
    save
    call on_stale
    jmp resume

/* At a mark of the program or a trigger; r11 = its struct gate. */
guest_tell:
    mov %r11, %gs:T_REASON
    save
    call on_tell
    jmp resume

/* A segment base may have changed; r11 = exit id. */
guest_state:
    mov %r11, %gs:T_REASON
    save
    call on_state
    jmp resume

/* A return missed; T_TARGET = where it goes. MISS_MOVE bytes before, rcx is in r10. */
1:  mov %r10, %rcx
guest_landing:
    .if guest_landing - 1b - MISS_MOVE
    .error "MISS_MOVE"
    .endif
    mov %r11, %gs:T_PTR
    mov %gs:T_R10, %r10
    save
    call on_landing
    jmp resume

/* An indirect jump or call missed; T_TARGET = where it goes. The same. */
1:  mov %r10, %rcx
guest_indirect:
    .if guest_indirect - 1b - MISS_MOVE
    .error "MISS_MOVE"
    .endif
    mov %r11, %gs:T_PTR
    mov %gs:T_R10, %r10
    save
    call on_indirect
    /* fall through */

    .globl resume
resume:
    mov %gs:T_SELF, %rdi
    call enter_cache
    load_registers
    mov %gs:T_PTR, %r11
    mov REG(4), %rsp
    jmp *%gs:T_RESUME

/* A system call; rcx = where to go on, T_PC = the program's next pc. From call_window to the instruction itself no signal
 * may be overlooked: on_signal leads one that arrives there to guest_abandon. */
guest_syscall:
    mov %r11, %gs:T_PTR
    mov %rcx, %gs:T_RESUME
    save
    call before_syscall
    cmp $1, %eax
    je 1f
    ja 5f
    .globl call_window
call_window:
    cmpl $0, %gs:T_PENDING
    jne guest_abandon
    load_registers
    mov REG(4), %rsp
    .globl guest_syscall_insn
guest_syscall_insn:
    syscall
    .globl call_returned
call_returned:
2:  mov %rax, %gs:T_RESULT
1:  own_stack
    call after_syscall
    jmp resume
5:  cmp $2, %eax
    je 6f
    /* A task is made. Its block goes with it in rbx, which the kernel leaves alone; its maker's block is not its to read,
     * for its maker does not wait. */
    load_registers
    mov REG(4), %rsp
    mov %gs:T_CLONING, %rbx
    syscall
    .globl task_returned
task_returned:
    test %rax, %rax
    jnz 2b
    cmp $1, %rbx
    je 3f
    wrgsbase %rbx
    mov %rsp, REG(4)
    own_stack
    call on_new_thread
    jmp resume
    /* A new task that runs natively, and whose maker does wait, and needs no signal stack meanwhile. The kernel left r11 as
     * the program expects it, rcx we mend, and that is also the way out. */
3:  mov %rsp, %rbx
    mov %r11, %r12
    mov %gs:T_SELF, %rdi
    lea T_SIGNAL_STACK + T_SIGNAL_STACK_SIZE(%rdi), %rsp
    call on_native_task
    pushq %gs:T_FLAGS
    popfq
    mov %rbx, %rsp
    mov %r12, %r11
    mov REG(2), %rdx
    mov REG(3), %rbx
    mov REG(6), %rsi
    mov REG(7), %rdi
    mov REG(8), %r8
    mov REG(9), %r9
    mov REG(10), %r10
    mov REG(12), %r12
    mov %gs:T_PC, %rcx
    mov %gs:T_APP_GS, %rax
    movq $0, %gs:T_CLONING
    wrgsbase %rax
    mov $0, %eax
    jmp *%rcx
    /* The end of a thread. Once the block is given back nothing of it may be touched, not even the stack. */
6:  mov REG(4), %rsp
    mov REG(7), %rdi
    mov REG(0), %rax
    movl $0, %gs:T_IN_USE
    syscall
    hlt

/* For system calls that the host makes in the name of a thread that is stopped in the guest. */
guest_remote:
    syscall
    int3

/* -- Signals ---------------------------------------------------------------------------------- */

/* The kernel starts this for every signal we handle, on the stack in the thread block. gs may be the program's: it is put
 * back as it was, unless on_signal sends the thread into the guest. On any other stack the thread has left for native code. */
    .globl guest_signal
guest_signal:
    pushq $2
    popfq
    lea guest_head(%rip), %rcx
    mov %rsp, %rax
    sub %rcx, %rax
    cmp $WIRE_INDEX_OFF, %rax /* the blocks end there */
    jae 2f
    rdgsbase %rax
    push %rax
    mov %rdx, %rcx
    mov %rsi, %rdx
    mov %edi, %esi
    mov %rax, %r8
    mov %rsp, %rdi
    and $-WIRE_THREAD_SIZE, %rdi
    wrgsbase %rdi
    call on_signal
    pop %rcx
    test %eax, %eax
    jnz 1f
    wrgsbase %rcx
1:  ret
2:  push %rdi
    push %rsi
    push %rdx
    call pass_on
    pop %rdx
    pop %rsi
    pop %rdi
    test %rax, %rax
    jz 1b
    mov %rax, %rcx
    xor %eax, %eax
    jmp *%rcx

    .globl guest_restorer
guest_restorer:
    mov $15, %eax
    syscall

/* Take mask, vector state and registers from this context (rdi), all at once; natively, with this gs (rsi). */
    .globl enter_context, enter_native
enter_native:
    wrgsbase %rsi
enter_context:
    mov %rdi, %rsp
    mov $15, %eax
    syscall

/* Where on_signal sends a thread, with the program's state in the thread block:
 * a fault in the cache; a stop in native code; a system call that must not begin. */
    .globl guest_fault, guest_reenter, guest_abandon, guest_continue
guest_fault:
    own_stack
    call on_fault
    jmp resume
guest_reenter:
    own_stack
    call on_reenter
    jmp resume
guest_abandon:
    own_stack
    call on_abandoned
    jmp resume

/* And where enter_context leads. */
guest_continue:
    own_stack
    call go_on
    jmp resume

/* Memory of the program, which may not be there: 0, or 1 if it is not. on_signal leads faults from guard_begin to
 * guard_end to guard_fault. */
    .globl copy_guarded, xsave_guarded, guard_begin, guard_end, guard_fault
copy_guarded:
    mov %rdx, %rcx
guard_begin:
    rep movsb
    xor %eax, %eax
    ret
/* The vector state (which: rsi) to rdi, with a clear header. */
xsave_guarded:
    .irp at, 512, 520, 528, 536, 544, 552, 560, 568
    movq $0, \at(%rdi)
    .endr
    mov %rsi, %rax
    mov %rsi, %rdx
    shr $32, %rdx
    xsave64 (%rdi)
guard_end:
    xor %eax, %eax
    ret
guard_fault:
    mov $1, %eax
    ret

/* Replace the shared pages by those in a memfd: rdi = where the jump tables are, rsi = the memfd. Only registers are used:
 * the stack is in the pages. Those with our block come last, and the block goes back to whom it was borrowed from right
 * before. The new one is at the same address; the host has filled it. */
    .globl rewire
rewire:
    push %rbx
    push %r12
    push %r13
    mov %rsi, %r8
    lea rewire_parts(%rip), %rbx
    lea guest_head(%rip), %r12
    mov $7, %r13d
1:  cmp $1, %r13d
    jne 2f
    movl $0, %gs:T_IN_USE
2:  mov (%rbx), %r9
    mov 8(%rbx), %rsi
    mov 16(%rbx), %rdx
    mov $0x4011, %r10d          /* MAP_SHARED | MAP_FIXED | MAP_NORESERVE */
    mov $9, %eax                /* mmap */
    syscall
    cmp $-4096, %rax
    ja 4f
    mov $16, %edx               /* MADV_DONTDUMP */
    mov $28, %eax               /* madvise */
    syscall
    add $24, %rbx
    mov (%rbx), %rdi
    add %r12, %rdi
    dec %r13d
    jnz 1b
    mov %r8, %rdi
    mov $3, %eax                /* close */
    syscall
    own_stack
    call on_start
    jmp resume
    /* Nothing that was there can fail to be replaced but for want of the kernel's own memory; then the block is the last. */
4:  cmp $1, %r13d
    je 5f
    pop %r13
    pop %r12
    pop %rbx
    ret
5:  ud2

/* The same as below for a thread that rests. Until it is there no signal may be overlooked: on_signal leads one that arrives between
 * rest_native and native_entered to guest_reenter, for which everything is still in the block. */
    .globl rest_native, native_entered
rest_native:
    cmpl $0, %gs:T_PENDING
    jne guest_reenter
    cmpl $REST_NATIVE, %gs:T_RESTING
    jne guest_reenter

/* Leave for the program's own code at T_PC, with the flags in rsi set besides its own and code selector rdx. iretq takes pc, flags and stack
 * pointer at once, from our stack. */
    .globl leave_native
leave_native:
    own_stack
    mov %ss, %rax
    push %rax
    push REG(4)
    or %gs:T_FLAGS, %rsi
    push %rsi
    push %rdx
    push %gs:T_PC
    push REG(0)
    load_registers
    mov %gs:T_APP_R11, %r11
    mov %gs:T_APP_GS, %rax
    wrgsbase %rax
    pop %rax
native_entered:
    iretq
