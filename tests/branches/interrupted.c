/* SPDX-License-Identifier: MIT */
/* Branches behind which something else comes: a fault at their target, a jump to nowhere, a signal at any moment. */
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/time.h>

enum { PAGE = 4096, ROUNDS = 30, SIGNALS = 4 };

static unsigned char *page;
static sigjmp_buf back;
static volatile int arrived, sink;

/* The first instruction of each faults while the page is closed. */
int load_first(const unsigned char *p);
int store_first(unsigned char *p);
__asm__("load_first: movzbl (%rdi), %eax; ret\n"
        "store_first: movb $3, (%rdi); xor %eax, %eax; ret\n");

static int (*volatile load)(const unsigned char *) = load_first;
static int (*volatile store)(unsigned char *) = store_first;
static void (*volatile nowhere)(void) = (void (*)(void))(uintptr_t)4096;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    if (info->si_addr != page)
        siglongjmp(back, 1);
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void on_alarm(int sig)
{
    arrived += sig == SIGALRM;
}

static void close_page(void)
{
    mprotect(page, PAGE, PROT_NONE);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER};
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    signal(SIGALRM, on_alarm);
    for (int i = 0; i < ROUNDS; i++) {
        close_page();
        sink += load(page);
        close_page();
        sink += store(page);
        close_page();
        if (i % 3)
            sink += *(volatile unsigned char *)page; /* right behind the branch */
        if (!sigsetjmp(back, 1))
            nowhere();
    }
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    setitimer(ITIMER_REAL, &often, NULL);
    while (arrived < SIGNALS)
        sink += load(page) + store(page);
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}
