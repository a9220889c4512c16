/* SPDX-License-Identifier: MIT */
/* A program that moves its thread pointer away, as other languages' runtimes do: no C library in between, by call and by
 * instruction, with branches, system calls and signals meanwhile; and a program that starts without any library. */
#include "check.h"
#include <asm/prctl.h>
#include <sys/auxv.h>

long old_base, new_area[16];
volatile long signals_seen, seen_value;

/* The handler of that time: touches nothing but what it names, and remembers what fs leads to. */
void bare_handler(int sig);
long without_thread_pointer(long turns, long pid, long tid, long use_instructions);
asm(".globl bare_handler, without_thread_pointer\n"
    "bare_handler:\n"
    "    incq signals_seen(%rip)\n"
    "    mov %fs:8, %rax\n"
    "    mov %rax, seen_value(%rip)\n"
    "    ret\n"
    "without_thread_pointer:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rdi, %rbx\n"
    "    mov %rsi, %r12\n"
    "    mov %rdx, %r13\n"
    "    mov %rcx, %r14\n"
    "    xor %ebp, %ebp\n"
    /* away */
    "    lea new_area(%rip), %rsi\n"
    "    test %r14, %r14\n"
    "    jnz 1f\n"
    "    mov $0x1002, %edi\n" /* ARCH_SET_FS */
    "    mov $158, %eax\n"
    "    syscall\n"
    "    jmp 2f\n"
    "1:  wrfsbase %rsi\n"
    /* work there */
    "2:  mov $234, %eax\n"
    "    mov %r12, %rdi\n"
    "    mov %r13, %rsi\n"
    "    mov $10, %edx\n" /* SIGUSR1 */
    "    syscall\n"
    "    addq $1, %fs:16\n"
    "    mov %fs:8, %r11\n"
    "    add %r11, %rbp\n"
    "    call 3f\n"
    "    lea 2b(%rip), %rax\n"
    "    dec %rbx\n"
    "    jz 4f\n"
    "    jmp *%rax\n"
    "3:  ret\n"
    /* and to nothing at all, and back */
    "4:  xor %esi, %esi\n"
    "    test %r14, %r14\n"
    "    jnz 1f\n"
    "    mov $0x1002, %edi\n"
    "    mov $158, %eax\n"
    "    syscall\n"
    "    mov $5, %ecx\n"
    "5:  loop 5b\n"
    "    mov old_base(%rip), %rsi\n"
    "    mov $0x1002, %edi\n"
    "    mov $158, %eax\n"
    "    syscall\n"
    "    jmp 6f\n"
    "1:  wrfsbase %rsi\n"
    "    lea 7f(%rip), %rax\n"
    "    jmp *%rax\n"
    "7:  mov $39, %eax\n"
    "    syscall\n"
    "    mov old_base(%rip), %rsi\n"
    "    wrfsbase %rsi\n"
    "6:  mov %rbp, %rax\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");

int main(void)
{
    struct sigaction act = {.sa_handler = bare_handler};
    watchdog(WATCHDOG_SECONDS);
    sigaction(SIGUSR1, &act, NULL);
    syscall(SYS_arch_prctl, ARCH_GET_FS, &old_base);
    bool has_instructions = getauxval(AT_HWCAP2) & 2;
    new_area[1] = 31;
    for (int turn = 0; turn < 20; turn++) {
        int kept = errno = 1000 + turn;
        CHECK_IS(without_thread_pointer(10, getpid(), gettid(), has_instructions && turn % 2), 310);
        CHECK_IS(errno, kept);
        CHECK_IS(new_area[2], 10 * (turn + 1));
        CHECK_IS(signals_seen, 10 * (turn + 1));
        CHECK_IS(seen_value, 31);
    }
    return verdict();
}
