/* SPDX-License-Identifier: MIT */
/* Two processes with threads in one address space: one of them ends, by exit_group, by a fatal signal or by exec, and
 * the other goes on with its memory, code and handlers. */
#include "check.h"
#include <linux/futex.h>
#include <sched.h>

/* clone on a new stack; the child calls f(arg) and exits with what it returns. */
long start_task(long flags, void *stack, long (*f)(long), long arg, int *ctid);
asm(".globl start_task\n"
    "start_task:\n"
    "    push %r12\n"
    "    push %r13\n"
    "    mov %rdx, %r12\n"
    "    mov %rcx, %r13\n"
    "    mov %r8, %r10\n"
    "    xor %edx, %edx\n"
    "    xor %r8d, %r8d\n"
    "    mov $56, %eax\n"
    "    syscall\n"
    "    test %rax, %rax\n"
    "    jz 1f\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    ret\n"
    "1:  xor %ebp, %ebp\n"
    "    mov %r13, %rdi\n"
    "    call *%r12\n"
    "    mov %eax, %edi\n"
    "    mov $60, %eax\n"
    "    syscall\n");

static long call4(long nr, long a, long b, long c, long d)
{
    register long r10 asm("r10") = d;
    asm volatile("syscall" : "+a"(nr) : "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
    return nr;
}

static long call3(long nr, long a, long b, long c)
{
    return call4(nr, a, b, c, 0);
}

enum { THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };
static volatile int ready, own_turns;
static volatile int stop;
static volatile int arrived;

static char *stack_top(void)
{
    return (char *)map(65536, PROT_READ | PROT_WRITE) + 65536;
}

/* Threads of the other group: they run until their group ends. No library in here. */
static long spin(long n)
{
    __sync_fetch_and_add(&ready, 1);
    for (volatile long i = n;; i++)
        if (i % 1000 == 0)
            call3(SYS_sched_yield, 0, 0, 0);
    return 0;
}

static long sleep_for_ever(long n)
{
    __sync_fetch_and_add(&ready, 1);
    for (;;)
        call3(SYS_pause, n, 0, 0);
    return 0;
}

static void bare_handler(int sig)
{
    (void)sig;
    arrived += 1000;
}

/* The first thread of the other group; it makes two more and ends its group in the asked way. */
static char *other_stacks[2];
static long way_now;
static const char *const new_argv[] = {"true", NULL};

static long other_leader(long way)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action = {(void *)bare_handler, 0x04000000, NULL, 0};
    /* Its handlers are its own: the first group must not get this one. */
    if (call4(SYS_rt_sigaction, SIGUSR1, (long)&action, 0, 8))
        return 97;
    if (start_task(THREAD, other_stacks[0], spin, 1, NULL) < 0 ||
        start_task(THREAD, other_stacks[1], sleep_for_ever, 2, NULL) < 0)
        return 99;
    while (ready < 2)
        call3(SYS_sched_yield, 0, 0, 0);
    if (way == 0)
        call3(SYS_exit_group, 31, 0, 0);
    if (way == 1)
        asm volatile("ud2");
    if (way == 2)
        call3(SYS_execve, (long)"/bin/true", (long)new_argv, 0);
    if (way == 3)
        call3(SYS_kill, call3(SYS_getpid, 0, 0, 0), SIGKILL, 0);
    return 98;
}

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

/* Threads of the first group that must not notice. */
static long count_turns(long n)
{
    (void)n;
    while (!stop) {
        __sync_fetch_and_add(&own_turns, 1);
        call3(SYS_sched_yield, 0, 0, 0);
    }
    return 0;
}

int main(void)
{
    static const int statuses[] = {31 << 8, SIGILL, 0, SIGKILL};
    static volatile int ctid = -1;
    watchdog(WATCHDOG_SECONDS);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(SIGUSR1, on_signal);
    must(start_task(THREAD | CLONE_CHILD_CLEARTID, stack_top(), count_turns, 0, (int *)&ctid) > 0,
         "make a thread");
    for (int round = 0; round < 12; round++) {
        way_now = round % 4;
        ready = 0;
        other_stacks[0] = stack_top();
        other_stacks[1] = stack_top();
        pid_t pid = (pid_t)start_task(SIGCHLD | CLONE_VM, stack_top(), other_leader, way_now, NULL);
        must(pid > 0, "make a group");
        int status = status_of(pid);
        CHECK_IS(status, statuses[way_now]);
        /* All of this group still works. */
        int turns = own_turns, before = arrived;
        while (own_turns < turns + 3)
            sched_yield();
        raise(SIGUSR1);
        CHECK_IS(arrived, before + 1);
        char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
        put_return(page, round);
        CHECK_IS(call_code(page), round);
        munmap(page, PAGE);
    }
    stop = 1;
    while (ctid)
        syscall(SYS_futex, &ctid, FUTEX_WAIT, ctid, NULL, NULL, 0);
    return verdict();
}
