/* SPDX-License-Identifier: MIT */
/* build: -pthread */
/* Threads that compute for a while and then wait, by turns: registers and the bases of segments stay theirs while they compute, and no wait
 * ends before its time or with EINTR. With a budget they run natively and in the cache by turns, and are called back at any moment. */
#include "check.h"
#include <poll.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/epoll.h>

enum { THREADS = 4, TURNS = 50, LOOPS = 400000, WAIT_MS = 1 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* No system call in here. What is in the registers is compared at each turn of the loop. */
static uint64_t compute(uint64_t seed)
{
    uint64_t wrong = 0, loops = LOOPS, gs = 0x5000 + 16 * seed;
    __asm__ volatile("wrgsbase %[gs]\n"
                     "    mov %[seed], %%r8\n"
                     "    lea 1(%[seed]), %%r9\n"
                     "    lea 2(%[seed]), %%r10\n"
                     "    lea 3(%[seed]), %%r11\n"
                     "    movq %[seed], %%xmm5\n"
                     "1:  rdgsbase %%rax\n"
                     "    sub %[gs], %%rax\n"
                     "    or %%rax, %[wrong]\n"
                     "    movq %%xmm5, %%rax\n"
                     "    sub %%r8, %%rax\n"
                     "    or %%rax, %[wrong]\n"
                     "    lea -1(%%r9), %%rax\n"
                     "    sub %%r8, %%rax\n"
                     "    or %%rax, %[wrong]\n"
                     "    lea -2(%%r10), %%rax\n"
                     "    sub %%r8, %%rax\n"
                     "    or %%rax, %[wrong]\n"
                     "    lea -3(%%r11), %%rax\n"
                     "    sub %%r8, %%rax\n"
                     "    or %%rax, %[wrong]\n"
                     "    dec %[loops]\n"
                     "    jnz 1b\n"
                     : [wrong] "+r"(wrong), [loops] "+r"(loops)
                     : [seed] "r"(seed), [gs] "r"(gs)
                     : "rax", "r8", "r9", "r10", "r11", "xmm5", "cc", "memory");
    return wrong;
}

static int wait_somehow(unsigned kind, int epoll)
{
    struct timespec nap = {0, WAIT_MS * 1000000};
    struct epoll_event event;
    switch (kind % 3) {
    case 0:
        return nanosleep(&nap, NULL);
    case 1:
        return poll(NULL, 0, WAIT_MS);
    default:
        return epoll_wait(epoll, &event, 1, WAIT_MS);
    }
}

static void *turns(void *argument)
{
    uint64_t self = (uint64_t)(uintptr_t)argument;
    int epoll = epoll_create1(0);
    must(epoll >= 0, "make an epoll");
    for (unsigned i = 0; i < TURNS; i++) {
        CHECK_IS(compute(self * TURNS + i + 1), 0);
        double began = now();
        CHECK_IS(wait_somehow(i + (unsigned)self, epoll), 0);
        CHECK(now() - began >= WAIT_MS * 1e-3);
    }
    close(epoll);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    if (!(getauxval(AT_HWCAP2) & 2)) {
        say("skip: this kernel does not let programs change their gs base\n");
        return SKIP;
    }
    for (uintptr_t i = 0; i < THREADS; i++)
        must(!pthread_create(&thread[i], NULL, turns, (void *)i), "make a thread");
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    say("%d turns of %d threads\n", TURNS, THREADS);
    return check_failures ? 1 : 0;
}
