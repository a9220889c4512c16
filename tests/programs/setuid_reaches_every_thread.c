/* SPDX-License-Identifier: MIT */
/* A change of identity by one thread is carried to all others by signals of the library that nobody sees, while the threads
 * compute, sleep, wait and block every signal. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 6, OTHER = 65534 };

static volatile bool done;
static volatile int ready;
static int fds[2];

static void *work(void *arg)
{
    long id = (long)arg;
    sigset_t all;
    char byte;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    __sync_fetch_and_add(&ready, 1);
    for (volatile long i = 0; !done && id % 3 == 0; i++)
        if (i % 10000 == 0)
            usleep(10);
    while (!done && id % 3 == 1)
        usleep(500);
    if (id % 3 == 2)
        CHECK_IS(read(fds[0], &byte, 1), 1);
    return (void *)syscall(SYS_geteuid);
}

int main(void)
{
    pthread_t thread[THREADS];
    void *told;
    bool is_root = geteuid() == 0;
    watchdog(WATCHDOG_SECONDS);
    must(!pipe(fds), "make a pipe");
    for (long i = 0; i < THREADS; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)i), "create a thread");
    while (ready < THREADS)
        sched_yield();
    for (int i = 0; i < 20; i++)
        CHECK(!setresgid(-1, getegid(), -1));
    if (is_root)
        CHECK(!setresuid(-1, OTHER, -1));
    long own = syscall(SYS_geteuid);
    CHECK_IS(own, is_root ? OTHER : (long)geteuid());
    done = true;
    CHECK_IS(write(fds[1], "xx", 2), 2);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &told);
        CHECK_IS((long)told, own);
    }
    return verdict();
}
