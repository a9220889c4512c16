/* SPDX-License-Identifier: MIT */
/* The program's own seccomp filters rule its own calls and nothing else: errors, traps with the right address, kills;
 * and a filter that allows next to nothing lets the program still run code it has never run before, fault, and end. */
#include "check.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(nr, what) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, what)
#define ELSE(what) BPF_STMT(BPF_RET | BPF_K, what)

static int install(struct sock_filter *filter, int length, unsigned flags)
{
    struct sock_fprog program = {.len = (unsigned short)length, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}
#define INSTALL(flags, ...)                                                                     \
    install((struct sock_filter[]){LOAD(nr), __VA_ARGS__},                                      \
            sizeof((struct sock_filter[]){LOAD(nr), __VA_ARGS__}) / sizeof(struct sock_filter), \
            flags)

long marked_call(long nr, long a);
extern const char marked_after[];
asm(".globl marked_call, marked_after\n"
    "marked_call:\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    syscall\n"
    "marked_after:\n"
    "    ret\n");

static volatile int arrived;

/* Answer the call in the kernel's place. */
static void on_sys(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    arrived++;
    CHECK_IS(info->si_code, 1); /* SYS_SECCOMP */
    CHECK_IS(info->si_syscall, SYS_getpgid);
    CHECK_IS(info->si_arch, AUDIT_ARCH_X86_64);
    CHECK_IS(info->si_errno, 99);
    CHECK_IS(info->si_call_addr, marked_after);
    CHECK_IS(reg[REG_RIP], (long)marked_after);
    CHECK_IS(reg[REG_RAX], SYS_getpgid);
    CHECK_IS(reg[REG_RDI], 17);
    reg[REG_RAX] = 4321;
}

static int errors_and_traps(void)
{
    handle(SIGSYS, on_sys, 0);
    CHECK(!INSTALL(0, ANSWER(SYS_getppid, SECCOMP_RET_ERRNO | 77),
                   ANSWER(SYS_getpgid, SECCOMP_RET_TRAP | 99), ELSE(SECCOMP_RET_ALLOW)));
    for (int i = 0; i < 20; i++) {
        CHECK_IS(marked_call(SYS_getppid, 0), -77);
        CHECK_IS(marked_call(SYS_getpgid, 17), 4321);
        CHECK_IS(marked_call(SYS_getpid, 0), getpid());
    }
    CHECK_IS(arrived, 20);
    /* A second filter on top: the stricter answer counts. */
    CHECK(!INSTALL(0, ANSWER(SYS_getppid, SECCOMP_RET_ALLOW),
                   ANSWER(SYS_getuid, SECCOMP_RET_ERRNO | 5), ELSE(SECCOMP_RET_ALLOW)));
    CHECK_IS(marked_call(SYS_getppid, 0), -77);
    CHECK_IS(marked_call(SYS_getuid, 0), -5);
    CHECK_IS(prctl(PR_GET_SECCOMP), 2);
    return check_failures ? 1 : 0;
}

static int killed(void)
{
    INSTALL(0, ANSWER(SYS_getppid, SECCOMP_RET_KILL_PROCESS), ELSE(SECCOMP_RET_ALLOW));
    marked_call(SYS_getppid, 0);
    return 1;
}

/* Arguments are what the program passes. */
static int by_argument(void)
{
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpgid, 0, 3),
        LOAD(args[0]),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x12345678, 0, 1),
        ELSE(SECCOMP_RET_ERRNO | 42),
        ELSE(SECCOMP_RET_ALLOW),
    };
    CHECK(!install(filter, 6, 0));
    CHECK_IS(marked_call(SYS_getpgid, 0x12345678), -42);
    CHECK_IS(marked_call(SYS_getpgid, 0), getpgrp());
    return check_failures ? 1 : 0;
}

#define FRESH(n)                                            \
    __attribute__((noinline)) static long fresh_##n(long x) \
    {                                                       \
        asm volatile("" : "+r"(x));                         \
        return x % 2 ? x * n : x + n;                       \
    }
FRESH(11)
FRESH(12)
FRESH(13)
FRESH(14)

static sigjmp_buf out;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(out, 1);
}

/* Nothing but write, exit and the way back from handlers: kill for the rest. */
static int next_to_nothing(void)
{
    signal(SIGSEGV, on_fault);
    volatile char *volatile nowhere = (char *)32;
    INSTALL(0, ANSWER(SYS_write, SECCOMP_RET_ALLOW), ANSWER(SYS_exit_group, SECCOMP_RET_ALLOW),
            ANSWER(SYS_rt_sigreturn, SECCOMP_RET_ALLOW),
            ANSWER(SYS_rt_sigprocmask, SECCOMP_RET_ALLOW), ELSE(SECCOMP_RET_KILL_PROCESS));
    long sum = fresh_11(3) + fresh_12(4) + fresh_13(5) + fresh_14(6);
    for (volatile int i = 0; i < 5; i++)
        if (!sigsetjmp(out, 1))
            *nowhere = 1;
    say("fresh code: %ld\n", sum);
    char text[64];
    snprintf(text, sizeof text, "%.3f\n", 2.0 / (double)sum); /* much code of the library */
    say("%s", text);
    return sum == 134 ? 0 : 1;
}

static void *in_thread(void *arg)
{
    (void)arg;
    pthread_barrier_wait(arg);
    pthread_barrier_wait(arg);
    return (void *)marked_call(SYS_getppid, 0);
}

/* For all threads at once. */
static int all_threads(void)
{
    pthread_t thread;
    pthread_barrier_t barrier;
    void *result;
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, in_thread, &barrier);
    pthread_barrier_wait(&barrier);
    CHECK(!INSTALL(SECCOMP_FILTER_FLAG_TSYNC, ANSWER(SYS_getppid, SECCOMP_RET_ERRNO | 66),
                   ELSE(SECCOMP_RET_ALLOW)));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, &result);
    CHECK_IS((long)result, -66);
    return check_failures ? 1 : 0;
}

/* The old mode: read, write, exit and sigreturn. */
static int strict_and_good(void)
{
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
        _exit(9);
    say("strict: %ld\n", fresh_11(2) + fresh_14(1));
    syscall(SYS_exit, 5);
    return 1;
}

static int strict_and_bad(void)
{
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    syscall(SYS_getpid);
    return 1;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    CHECK_IS(status_in_child(errors_and_traps), 0);
    CHECK_IS(status_in_child(killed), SIGSYS);
    CHECK_IS(status_in_child(by_argument), 0);
    CHECK_IS(status_in_child(next_to_nothing), 0);
    CHECK_IS(status_in_child(all_threads), 0);
    CHECK_IS(status_in_child(strict_and_good), 5 << 8);
    CHECK_IS(status_in_child(strict_and_bad), SIGKILL);
    CHECK_IS(errors_and_traps(), 0); /* and in the main process */
    return verdict();
}
