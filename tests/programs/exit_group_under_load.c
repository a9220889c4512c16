/* SPDX-License-Identifier: MIT */
/* Processes end while their threads run fresh code, sleep, fault, take signals and are being made; by every way of
 * ending, from every thread; the status is the one given. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 6, WAYS = 9, ROUNDS = 3 };

static volatile int started;
static int way;

static void on_signal(int sig)
{
    (void)sig;
}

static sigjmp_buf out;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(out, 1);
}

static void *idle(void *arg)
{
    return arg;
}

/* Fresh code all the time. */
static void run_fresh(void)
{
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int i = 0;; i++) {
        put_return(page + i % 100 * 16, i);
        call_code(page + i % 100 * 16);
        if (i % 100 == 0)
            usleep(50);
    }
}

static void *busy(void *arg)
{
    long id = (long)arg;
    volatile char *volatile nowhere = (char *)32;
    __sync_fetch_and_add(&started, 1);
    switch (id) {
    case 0:
        run_fresh();
        break;
    case 1:
        for (;;)
            pause();
    case 2:
        for (;;) {
            if (!sigsetjmp(out, 1))
                *nowhere = 1;
            usleep(20);
        }
    case 3:
        for (;;) {
            pthread_t thread;
            if (!pthread_create(&thread, NULL, idle, NULL))
                pthread_join(thread, NULL);
        }
    case 4:
        for (;;) {
            raise(SIGUSR1);
            usleep(20);
        }
    default:
        for (volatile long i = 0;; i++)
            if (i % 5000 == 0)
                usleep(20);
    }
    return NULL;
}

static void *end_it(void *arg)
{
    while (started < THREADS)
        sched_yield();
    switch ((long)arg) {
    case 1:
        exit(41);
    case 2:
        _exit(42);
    case 3:
        quick_exit(43);
    case 4:
        raise(SIGKILL);
        break;
    case 5:
        asm volatile("ud2");
        break;
    case 6:
        abort();
    default:
        syscall(SYS_exit_group, 47);
    }
    return NULL;
}

static int crowd(void)
{
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    signal(SIGSEGV, on_fault);
    started = 0;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread, NULL, busy, (void *)i);
    switch (way) {
    case 0: /* return from the first function */
        while (started < THREADS)
            sched_yield();
        exit(40);
    case 8: /* the main thread is gone long before */
        pthread_create(&thread, NULL, end_it, (void *)7);
        pthread_exit(NULL);
    default:
        pthread_create(&thread, NULL, end_it, (void *)(long)way);
        for (;;)
            pause();
    }
}

int main(void)
{
    static const int statuses[WAYS] = {40 << 8, 41 << 8, 42 << 8, 43 << 8, SIGKILL,
                                       SIGILL,  SIGABRT, 47 << 8, 47 << 8};
    watchdog(WATCHDOG_SECONDS);
    for (int round = 0; round < ROUNDS; round++)
        for (way = 0; way < WAYS; way++) {
            int status = status_in_child(crowd);
            if (status != statuses[way])
                fail("way %d: %s\n", way, status_text(status));
        }
    /* And this process itself, with its crowd. */
    pthread_t thread;
    signal(SIGUSR1, on_signal);
    signal(SIGSEGV, on_fault);
    started = 0;
    for (long i = 0; i < THREADS; i++)
        must(!pthread_create(&thread, NULL, busy, (void *)i), "create a thread");
    while (started < THREADS)
        sched_yield();
    return verdict();
}
