/* SPDX-License-Identifier: MIT */
/* Threads that fork and make threads at the same time: each child has one thread and the memory of its maker. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 12 };
static int bad;

static void *quick(void *arg)
{
    return (char *)arg + 1;
}

static int child(long id, long local)
{
    pthread_t t;
    void *result;
    if (local != id * 1000 || pthread_create(&t, NULL, quick, (void *)id))
        return 1;
    pthread_join(t, &result);
    return result == (char *)id + 1 ? 42 : 2;
}

static void *work(void *arg)
{
    long id = (long)arg;
    for (int i = 0; i < ROUNDS; i++) {
        volatile long local = id * 1000;
        pthread_t t;
        int status = 0;
        pid_t pid = fork();
        if (pid == 0)
            _exit(child(id, local));
        pthread_create(&t, NULL, quick, NULL);
        if (waitpid(pid, &status, 0) != pid || status != 42 << 8)
            __atomic_fetch_add(&bad, 1, __ATOMIC_RELAXED);
        pthread_join(t, NULL);
    }
    return NULL;
}

int main(void)
{
    pthread_t t[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)(i + 1));
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    printf("%d of %d children bad\n", bad, THREADS * ROUNDS);
    return bad;
}
