/* SPDX-License-Identifier: MIT */
/* After a system call rax is the result, rcx the address of the next instruction, r11 the flags; every other register,
 * all vector registers, the flags and the red zone are as before; for calls that exist and calls that do not. */
#include "check.h"
#include "xstate.h"
#include <linux/futex.h>
#include <sys/prctl.h>

enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, RSP, FLAGS, REGS };
static const char *const name[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",   "r9",
                                   "r10", "r11", "r12", "r13", "r14", "r15", "rsp", "flags"};
long regs_in[REGS], regs_out[REGS], red_zone_out[16];
void *own_stack;
extern const char after_call[];
void call_with_all(void);
asm(".globl call_with_all, after_call\n"
    "call_with_all:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    call load_vectors\n"
    "    mov %rsp, own_stack(%rip)\n"
    "    sub $1024, %rsp\n"
    "    mov $16, %ecx\n"
    "1:  mov %rcx, %rax\n"
    "    neg %rax\n"
    "    mov %rcx, (%rsp,%rax,8)\n"
    "    loop 1b\n"
    "    mov %rsp, 15*8+regs_in(%rip)\n"
    "    lea 1024(%rsp), %rsp\n"
    "    pushq 16*8+regs_in(%rip)\n"
    "    popfq\n"
    "    lea -1024(%rsp), %rsp\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15\n"
    "    mov at+regs_in(%rip), %\\r\n"
    "at = at + 8\n"
    ".endr\n"
    "    syscall\n"
    "after_call:\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15,rsp\n"
    "    mov %\\r, at+regs_out(%rip)\n"
    "at = at + 8\n"
    ".endr\n"
    "at = 0\n"
    ".rept 16\n"
    "    mov -8-at(%rsp), %rax\n"
    "    mov %rax, at+red_zone_out(%rip)\n"
    "at = at + 8\n"
    ".endr\n"
    "    mov own_stack(%rip), %rsp\n"
    "    pushfq\n"
    "    popq 16*8+regs_out(%rip)\n"
    "    cld\n"
    "    call store_vectors\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");

static long call(const char *what, int round, long nr, const long *arg)
{
    for (int i = 0; i < REGS; i++)
        regs_in[i] = (long)(0x7171717171717171ul * (unsigned)(i + 1) + (unsigned)round);
    static const int order[] = {RDI, RSI, RDX, R10, R8, R9};
    for (int i = 0; i < 6; i++)
        regs_in[order[i]] = arg[i];
    regs_in[RAX] = nr;
    regs_in[FLAGS] = (round % 2 ? 0xcd5 : 0) | 0x202;
    fill_vectors(&vectors_in, round);
    call_with_all();
    regs_in[RAX] = regs_out[RAX];
    regs_in[RCX] = (long)after_call;
    regs_in[R11] = regs_in[FLAGS];
    for (int i = 0; i < REGS; i++)
        if (regs_in[i] != regs_out[i])
            fail("%s: %s becomes 0x%lx, not 0x%lx\n", what, name[i], regs_out[i], regs_in[i]);
    for (int i = 0; i < 16; i++)
        if (red_zone_out[i] != i + 1)
            fail("%s: word %d of the red zone is 0x%lx\n", what, i, red_zone_out[i]);
    compare_vectors(&vectors_out, &vectors_in, what);
    return regs_out[RAX];
}

#define CALL(name, ...) call(#name, round, SYS_##name, (const long[6]){__VA_ARGS__})

int main(void)
{
    static char buffer[PAGE];
    static int word;
    watchdog(WATCHDOG_SECONDS);
    learn_xstate();
    int fds[2];
    must(!pipe(fds), "make a pipe");
    for (int round = 0; round < 20; round++) {
        long none = 0, mask = 1l << (SIGUSR2 - 1);
        stack_t stack = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
        CHECK_IS(CALL(getpid, 1, 2, 3, 4, 5, 6), getpid());
        CHECK_IS(CALL(write, fds[1], (long)"abc", 3, 4, 5, 6), 3);
        CHECK_IS(CALL(read, fds[0], (long)buffer, 3, 4, 5, 6), 3);
        CHECK_IS(CALL(read, 12345, (long)buffer, 3), -EBADF);
        CHECK_IS(CALL(write, fds[1], 8, 3), -EFAULT);
        CHECK_IS(CALL(futex, (long)&word, FUTEX_WAKE, 1), 0);
        CHECK_IS(CALL(futex, (long)&word, FUTEX_WAIT, 1), -EAGAIN);
        long page = CALL(mmap, 0, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(page > 0);
        CHECK_IS(CALL(mprotect, page, PAGE, PROT_READ), 0);
        CHECK_IS(CALL(madvise, page, PAGE, MADV_DONTNEED), 0);
        CHECK_IS(CALL(munmap, page, PAGE), 0);
        CHECK_IS(CALL(munmap, 1, PAGE), -EINVAL);
        CHECK_IS(CALL(mmap, 0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), -EINVAL);
        CHECK_IS(CALL(rt_sigprocmask, SIG_BLOCK, (long)&mask, (long)&none, 8), 0);
        CHECK_IS(CALL(rt_sigprocmask, SIG_UNBLOCK, (long)&mask, (long)&none, 8), 0);
        CHECK_IS(none, mask);
        CHECK_IS(CALL(rt_sigaction, SIGUSR1, 0, (long)buffer, 8), 0);
        CHECK_IS(CALL(rt_sigaction, 99, 0, (long)buffer, 8), -EINVAL);
        CHECK_IS(CALL(sigaltstack, (long)&stack, (long)buffer), 0);
        CHECK_IS(CALL(sigaltstack, 8, 0), -EFAULT);
        CHECK_IS(CALL(rt_sigsuspend, (long)&mask, 3), -EINVAL);
        CHECK_IS(CALL(arch_prctl, 0x1003, (long)buffer), 0);
        CHECK_IS(CALL(arch_prctl, 77, 0), -EINVAL);
        CHECK_IS(CALL(prctl, PR_GET_DUMPABLE), 1);
        CHECK_IS(CALL(clone, 0x10000), -EINVAL); /* a thread without its memory */
        CHECK_IS(CALL(execve, (long)"/nonexistent", 0, 0), -ENOENT);
        CHECK_IS(CALL(wait4, -1, 0, 0, 0), -ECHILD);
        CHECK_IS(CALL(nanosleep, (long)&(struct timespec){.tv_nsec = 100}, 0), 0);
        CHECK_IS(CALL(sched_yield), 0);
        CHECK_IS(CALL(clock_gettime, CLOCK_MONOTONIC, (long)buffer), 0);
        CHECK_IS(CALL(brk, 0), (long)sbrk(0));
        CHECK_IS(call("number 9999", round, 9999, (const long[6]){1, 2, 3, 4, 5, 6}), -ENOSYS);
        CHECK_IS(call("number -1", round, -1, (const long[6]){1, 2, 3, 4, 5, 6}), -ENOSYS);
        CHECK_IS(call("a number with more bits", round, SYS_getppid | 1l << 40, (const long[6]){0}),
                 getppid());
        munmap(stack.ss_sp, stack.ss_size);
    }
    return verdict();
}
