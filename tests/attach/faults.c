/* SPDX-License-Identifier: MIT */
/* Its threads do nothing but fault: whoever comes finds some of them with a fault that the kernel has not delivered yet. Each is handled once, and for the address that was read. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { THREADS = 4, PAGE = 4096 };

static __thread volatile char *page;
static __thread volatile unsigned long handled;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)sig;
    (void)context;
    if (info->si_addr != (void *)page)
        puts("a fault elsewhere");
    handled++;
    mprotect((void *)page, PAGE, PROT_READ);
}

static void *work(void *is_first)
{
    page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned long i = 1;; i++) {
        mprotect((void *)page, PAGE, PROT_NONE);
        (void)*page;
        if (handled != i) {
            printf("%lu of %lu faults were handled\n", handled, i);
            handled = i;
        }
        if (is_first && i % 20000 == 0)
            puts("round");
    }
    return NULL;
}

int main(void)
{
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    pthread_t thread;
    setvbuf(stdout, NULL, _IONBF, 0);
    sigaction(SIGSEGV, &act, NULL);
    for (int i = 1; i < THREADS; i++)
        pthread_create(&thread, NULL, work, NULL);
    puts("ready");
    work(&thread);
}
