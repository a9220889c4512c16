/* SPDX-License-Identifier: MIT */
/* Faults in the middle of everything, each handled, and signals to itself: the same events as the
 * judge's, since all of it is deterministic. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static sigjmp_buf out;
static volatile int faults, sent;
static long skip; /* how many bytes of code to skip; 0: jump out */

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)sig;
    (void)info;
    faults++;
    if (!skip)
        siglongjmp(out, 1);
    u->uc_mcontext.gregs[REG_RIP] += skip;
}

static void on_sent(int sig)
{
    (void)sig;
    sent++;
}

static char *page;

static void by_jump(void (*f)(void))
{
    skip = 0;
    if (!sigsetjmp(out, 1))
        f();
}

static volatile long *volatile nowhere = (long *)8;

static void store(void)
{
    *nowhere = 1;
}

static void call_nowhere(void)
{
    ((void (*)(void))0x10)();
}

static void divide(void)
{
    __asm__ volatile("xor %%ecx, %%ecx; mov $7, %%eax; cltd; idiv %%ecx" ::: "eax", "ecx", "edx");
}

static void copy_beyond(void)
{
    static char from[8192];
    void *to = page + 4096 - 100;
    void *source = from;
    unsigned long n = 300;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(source), "+c"(n)::"memory");
}

static void undefined(void)
{
    __asm__ volatile("ud2");
}

static void push_on_nothing(void)
{
    __asm__ volatile("mov %%rsp, %%rbx; mov $64, %%esp; push %%rax; mov %%rbx, %%rsp" ::: "rbx");
}

static void skipped(void)
{
    skip = 3; /* mov (%rax), %rax */
    __asm__ volatile("mov $40, %%eax; mov (%%rax), %%rax; mov (%%rax), %%rax" ::: "rax");
}

int main(void)
{
    static char stack[65536];
    stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&s, NULL);
    sigaction(SIGSEGV, &a, NULL);
    sigaction(SIGFPE, &a, NULL);
    sigaction(SIGILL, &a, NULL);
    signal(SIGUSR1, on_sent);
    page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    for (int i = 0; i < 20; i++) {
        by_jump(store);
        by_jump(call_nowhere);
        by_jump(divide);
        by_jump(copy_beyond);
        by_jump(undefined);
        by_jump(push_on_nothing);
        skipped();
        raise(SIGUSR1);
    }
    printf("%d faults, %d sent\n", faults, sent);
    return faults != 160 || sent != 20;
}
