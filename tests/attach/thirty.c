/* SPDX-License-Identifier: MIT */
/* Thirty threads: ten compute, each a little nicer than the last, the others wait: for ever, for long, and for a moment. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static int never[2];
static pthread_barrier_t all_begun;

static void *compute(void *number)
{
    volatile unsigned long a[512] = {0};
    setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), (int)(long)number);
    pthread_barrier_wait(&all_begun);
    for (unsigned long n = 0;; n++) {
        for (int i = 0; i < 512; i++)
            a[i] = a[i] * 7 + i;
        if (number == NULL && n % 20000 == 0) {
            puts("round");
            fflush(stdout);
        }
    }
}

static void *wait_for_something(void *number)
{
    char c;
    pthread_barrier_wait(&all_begun);
    for (;;)
        if ((long)number % 3 == 0)
            read(never[0], &c, 1);
        else if ((long)number % 3 == 1)
            poll(NULL, 0, 1000000);
        else
            usleep(2000);
}

int main(void)
{
    pthread_t t;
    if (pipe(never) || pthread_barrier_init(&all_begun, NULL, 30))
        return 1;
    for (long i = 0; i < 10; i++)
        pthread_create(&t, NULL, compute, (void *)i);
    for (long i = 0; i < 19; i++)
        pthread_create(&t, NULL, wait_for_something, (void *)i);
    pthread_barrier_wait(&all_begun);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
