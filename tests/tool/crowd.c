/* SPDX-License-Identifier: MIT */
/* Threads that share data, forks and a vfork with an execve, signals among them: many numbers of threads and processes. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t shared[4096];
static volatile sig_atomic_t handled;

static void handler(int sig)
{
    (void)sig;
    handled++;
}

static void churn(uint32_t seed, int n)
{
    for (int i = 0; i < n; i++, seed = seed * 1664525 + 1013904223)
        __atomic_fetch_add(&shared[seed >> 20], seed, __ATOMIC_RELAXED);
}

static void *thread(void *number)
{
    char own[9000];
    void *p = own;
    size_t n = sizeof own;
    for (int i = 0; i < 6; i++) {
        churn((uint32_t)(uintptr_t)number, 400);
        __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(i) : "memory");
        pthread_kill(pthread_self(), SIGUSR1);
    }
    return NULL;
}

static void child(uint32_t seed)
{
    churn(seed, 300);
    raise(SIGUSR1);
    _exit(handled ? 3 : 4);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return 2; /* the new image */
    pthread_t threads[3];
    int status, sum = 0;
    signal(SIGUSR1, handler);
    for (uintptr_t i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    for (uint32_t i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (!pid)
            child(i);
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
    }
    pid_t pid = vfork();
    if (!pid) {
        execl("/proc/self/exe", argv[0], "again", (char *)NULL);
        _exit(9);
    }
    waitpid(pid, &status, 0);
    sum += WEXITSTATUS(status);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("crowd %d %d\n", sum, (int)handled);
    return 5;
}
