/* SPDX-License-Identifier: MIT */
/* A 64-bit program goes into 32-bit code and back by far jumps, as emulators of old programs do; instructions there mean
 * what they mean in 32 bits, and so do their system calls. */
#include "check.h"

/* The 32-bit part, copied low. It gets its argument in eax and goes back through the far pointer at edi. */
extern const char low_begin[], low_end[];
asm(".pushsection .rodata\n"
    ".globl low_begin, low_end\n"
    "low_begin:\n"
    ".code32\n"
    "    mov $0x2b, %ecx\n"
    "    mov %ecx, %ds\n"
    "    mov %ecx, %ss\n"
    "    mov %esi, %esp\n"
    "    push %edi\n"
    "    .byte 0x40\n" /* inc eax: a prefix elsewhere */
    "    .byte 0x40\n"
    "    push %eax\n"
    "    mov $20, %eax\n" /* getpid, by the old number */
    "    int $0x80\n"
    "    mov %eax, %edx\n"
    "    pop %eax\n"
    "    call 1f\n"
    "    mov $3, %ecx\n"
    "2:  add %eax, %eax\n"
    "    loop 2b\n"
    "    pop %edi\n"
    "    ljmp *(%edi)\n"
    "1:  add $100, %eax\n"
    "    ret\n"
    ".code64\n"
    "low_end:\n"
    ".popsection\n");

long go_low(const void *to, const void *back, long value, const void *stack, long *pid);
asm(".globl go_low\n"
    "go_low:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rsp, saved_stack(%rip)\n"
    "    push %r8\n"
    "    mov %rsp, saved_stack(%rip)\n"
    "    mov %rdi, %r9\n"
    "    lea 1f(%rip), %rax\n"
    "    mov %rax, way_back(%rip)\n"
    "    mov %rsi, %rdi\n"
    "    mov %edx, %eax\n"
    "    mov %ecx, %esi\n"
    "    ljmp *(%r9)\n"
    "1:  mov saved_stack(%rip), %rsp\n"
    "    pop %r8\n"
    "    mov %edx, %edx\n"
    "    mov %rdx, (%r8)\n"
    "    mov %eax, %eax\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");
void *saved_stack, *way_back;

struct __attribute__((packed)) far_pointer {
    uint32_t offset;
    uint16_t selector;
};

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    unsigned char *low = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    must(low != MAP_FAILED, "map low memory");
    /* 64-bit code in low memory takes over from the 32-bit part: jmp *[rip]. */
    struct far_pointer *in = (void *)(low + PAGE), *back = (void *)(low + PAGE + 64);
    memcpy(low, low_begin, low_end - low_begin);
    unsigned char *landing = low + 1024;
    memcpy(landing, "\x49\xbb", 2); /* mov r11, &way_back; jmp *(r11) */
    memcpy(landing + 2, &(void *){&way_back}, 8);
    memcpy(landing + 10, "\x41\xff\x23", 3);
    *in = (struct far_pointer){(uint32_t)(uintptr_t)low, 0x23};
    *back = (struct far_pointer){(uint32_t)(uintptr_t)landing, 0x33};
    mprotect(low, PAGE, PROT_READ | PROT_EXEC);
    for (int i = 0; i < 30; i++) {
        long pid = 0;
        long got = go_low(in, back, i, low + 3 * PAGE, &pid);
        CHECK_IS(got, (i + 2 + 100) * 8);
        CHECK_IS(pid, getpid());
    }
    return verdict();
}
