/* SPDX-License-Identifier: MIT */
/* A signal that hits a long stretch of slow instructions ending in a system call: the handler sees the call either not
 * made, with the pc before it, or made, with the pc behind it and its result in rax. */
#include "check.h"
#include <sys/ioctl.h>

enum { ROUNDS = 400 };

long slow_then_write(int fd, const char *byte);
extern const char slow_begin[], slow_call[], slow_after[], slow_end[];
/* Sixty divisions, each waiting for the one before, then write(fd, byte, 1). r12 counts what has been divided. */
asm(".globl slow_then_write, slow_begin, slow_call, slow_after, slow_end\n"
    "slow_then_write:\n"
    "    push %r12\n"
    "    mov %rsi, %r8\n"
    "    mov $0x123456789abcdef, %rax\n"
    "    mov $3, %esi\n"
    "    xor %r12d, %r12d\n"
    "slow_begin:\n"
    ".rept 60\n"
    "    mov $1, %edx\n"
    "    div %rsi\n"
    "    shr $1, %rax\n"
    "    inc %r12\n"
    "    or $3, %rsi\n"
    ".endr\n"
    "    mov %r8, %rsi\n"
    "    mov $1, %edx\n"
    "    mov $1, %eax\n"
    "slow_call:\n"
    "    syscall\n"
    "slow_after:\n"
    "    mov %r12, %rax\n"
    "    pop %r12\n"
    "slow_end:\n"
    "    ret\n");

static int fds[2];
static volatile long arrived;

static void on_timer(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *pc = (const char *)reg[REG_RIP];
    int held = -1;
    (void)sig, (void)info;
    arrived++;
    CHECK(is_own_text(reg[REG_RIP]));
    if (pc < slow_begin || pc > slow_after)
        return;
    CHECK(!ioctl(fds[0], FIONREAD, &held));
    if (pc <= slow_call) {
        CHECK_IS(held, 0);
        CHECK(reg[REG_R12] >= 0 && reg[REG_R12] <= 60);
        CHECK(pc != slow_call || (reg[REG_R12] == 60 && reg[REG_RAX] == SYS_write));
    } else {
        CHECK_IS(held, 1);
        CHECK_IS(reg[REG_RAX], 1);
        CHECK_IS(reg[REG_R12], 60);
        CHECK_IS(reg[REG_RCX], (long)slow_after);
    }
}

int main(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
    struct itimerspec once = {0};
    timer_t timer;
    uint32_t random = 7;
    char byte;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    handle(SIGUSR1, on_timer, 0);
    must(!pipe(fds) && !timer_create(CLOCK_MONOTONIC, &event, &timer), "make a pipe and a timer");
    for (long round = 0; round < ROUNDS; round++) {
        once.it_value.tv_nsec = 1 + next_random(&random) % 20000;
        timer_settime(timer, 0, &once, NULL);
        while (arrived == round) {
            CHECK_IS(slow_then_write(fds[1], "x"), 60);
            CHECK_IS(read(fds[0], &byte, 1), 1);
        }
        CHECK_IS(arrived, round + 1);
    }
    say("%d signals\n", (int)arrived);
    return verdict();
}
