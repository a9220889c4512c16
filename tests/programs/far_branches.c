/* SPDX-License-Identifier: MIT */
/* Far jumps, calls and returns and iretq inside 64-bit code go where they say, with flags and stack as they say; a bad
 * selector is a fault at the branch. */
#include "check.h"

long far_return(long value), far_return_drops(long value), interrupt_return(long flags);
int far_jump(const void *pointer);
extern const char bad_far_return[];
void *far_stack;
asm(".globl far_return, far_return_drops, interrupt_return, far_jump, bad_far_return_runs, "
    "bad_far_return\n"
    "far_return:\n"
    "    xor %eax, %eax\n"
    "    mov %cs, %ecx\n"
    "    push %rcx\n"
    "    lea 1f(%rip), %rdx\n"
    "    push %rdx\n"
    "    lretq\n"
    "    ud2\n"
    "1:  lea 1(%rdi), %rax\n"
    "    ret\n"
    "far_return_drops:\n"
    "    push %rbx\n"
    "    mov %rsp, %rbx\n"
    "    sub $32, %rsp\n"
    "    mov %cs, %ecx\n"
    "    push %rcx\n"
    "    lea 1f(%rip), %rdx\n"
    "    push %rdx\n"
    "    lretq $32\n"
    "    ud2\n"
    "1:  mov %rbx, %rax\n"
    "    sub %rsp, %rax\n" /* nothing */
    "    add %rdi, %rax\n"
    "    pop %rbx\n"
    "    ret\n"
    /* Returns the flags, set by iretq, which also changes the stack pointer. */
    "interrupt_return:\n"
    "    push %rbx\n"
    "    mov %rsp, %rbx\n"
    "    mov %ss, %ecx\n"
    "    push %rcx\n"
    "    lea -256(%rbx), %rdx\n"
    "    push %rdx\n"
    "    push %rdi\n"
    "    mov %cs, %ecx\n"
    "    push %rcx\n"
    "    lea 1f(%rip), %rcx\n"
    "    push %rcx\n"
    "    mov %ss, %ecx\n"
    "    iretq\n"
    "    ud2\n"
    "1:  pushfq\n"
    "    pop %rax\n"
    "    cld\n"
    "    cmp %rdx, %rsp\n"
    "    je 2f\n"
    "    xor %eax, %eax\n"
    "2:  mov %rbx, %rsp\n"
    "    pop %rbx\n"
    "    ret\n"
    "far_jump:\n"
    "    ljmp *(%rdi)\n"
    "bad_far_return_runs:\n"
    "    mov %rsp, far_stack(%rip)\n"
    "    push $0x7b\n"
    "    push $0\n"
    "bad_far_return:\n"
    "    lretq\n");
void bad_far_return_runs(void);

struct __attribute__((packed)) far_pointer {
    uint32_t offset;
    uint16_t selector;
};

/* Code in the low 4 GB, where a pointer of 32 bits leads. */
static void through_memory(void)
{
    unsigned char *low =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    struct far_pointer *pointer = (void *)(low + 2048);
    if (low == MAP_FAILED)
        return;
    /* far call of what returns far: lcall *(%rdi); mov eax, 17; ret ... lea; lret */
    unsigned char call[] = {0x57, 0xff, 0x1f, 0x5f, 0xb8, 17, 0, 0, 0, 0x01, 0xc8, 0xc3};
    unsigned char callee[] = {0xb9, 4, 0, 0, 0, 0xcb};
    memcpy(low, call, sizeof call);
    memcpy(low + 64, callee, sizeof callee);
    memcpy(low + 128, "\xb8\x21\x00\x00\x00\xc3", 6); /* mov eax, 33; ret */
    pointer[0] = (struct far_pointer){(uint32_t)(uintptr_t)(low + 64), 0x33};
    pointer[1] = (struct far_pointer){(uint32_t)(uintptr_t)(low + 128), 0x33};
    mprotect(low, PAGE, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 20; i++) {
        CHECK_IS(((int (*)(void *))(uintptr_t)low)(&pointer[0]), 21);
        CHECK_IS(far_jump(&pointer[1]), 33);
    }
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    for (int i = 0; i < 50; i++) {
        CHECK_IS(far_return(i), i + 1);
        CHECK_IS(far_return_drops(i), i);
        long flags = (i & 1) | (i & 2 ? 0x40 : 0) | (i & 4 ? 0x80 : 0) | (i & 8 ? 0x800 : 0) |
                     (i & 16 ? 0x400 : 0) | 0x202;
        CHECK_IS(interrupt_return(flags), flags);
    }
    through_memory();
    CATCH(bad_far_return_runs());
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK_IS(fault.code, SI_KERNEL);
    CHECK_IS(fault.reg[REG_TRAPNO], 13);
    CHECK_IS(fault.reg[REG_ERR], 0x78);
    CHECK_IS(fault.reg[REG_RIP], (long)bad_far_return);
    CHECK_IS(fault.reg[REG_RSP], (long)far_stack - 16);
    return verdict();
}
