/* SPDX-License-Identifier: MIT */
/* A thread or process that dies with a robust mutex leaves it to the next one, who is told; whatever the way of dying.
 * Priority inheritance and waiting threads included. */
#include "check.h"
#include <pthread.h>

struct shared {
    pthread_mutex_t plain, inheriting;
    volatile int holds;
} * shared;

static void init(pthread_mutex_t *mutex, int protocol)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setprotocol(&attr, protocol);
    must(!pthread_mutex_init(mutex, &attr), "make a mutex");
}

static void *die_as_thread(void *arg)
{
    CHECK_IS(pthread_mutex_lock(arg), 0);
    return NULL;
}

/* Not by the library's way, which would tidy up. */
static void *die_by_call(void *arg)
{
    CHECK_IS(pthread_mutex_lock(arg), 0);
    syscall(SYS_exit, 0);
    return NULL;
}

static void inherit(pthread_mutex_t *mutex)
{
    CHECK_IS(pthread_mutex_lock(mutex), EOWNERDEAD);
    CHECK_IS(pthread_mutex_consistent(mutex), 0);
    CHECK_IS(pthread_mutex_unlock(mutex), 0);
    CHECK_IS(pthread_mutex_lock(mutex), 0);
    CHECK_IS(pthread_mutex_unlock(mutex), 0);
}

static void by_threads(pthread_mutex_t *mutex)
{
    pthread_t thread;
    for (int i = 0; i < 10; i++) {
        must(!pthread_create(&thread, NULL, i % 2 ? die_by_call : die_as_thread, mutex),
             "create a thread");
        pthread_join(thread, NULL);
        inherit(mutex);
    }
}

static void by_processes(pthread_mutex_t *mutex)
{
    for (int way = 0; way < 5; way++) {
        shared->holds = 0;
        pid_t pid = fork_watched();
        if (!pid) {
            pthread_mutex_lock(mutex);
            shared->holds = 1;
            if (way == 0)
                _exit(0);
            if (way == 1)
                raise(SIGKILL);
            if (way == 2)
                asm volatile("ud2");
            if (way == 3)
                execl("/bin/true", "true", (char *)NULL);
            for (;;)
                pause();
        }
        while (!shared->holds)
            sched_yield();
        if (way == 4)
            kill(pid, SIGTERM);
        inherit(mutex); /* waits until it has died */
        status_of(pid);
    }
}

static void *wait_for_it(void *arg)
{
    inherit(arg);
    return NULL;
}

static void *hold_and_die(void *arg)
{
    pthread_mutex_lock(arg);
    shared->holds = 1;
    usleep(3000);
    return NULL;
}

/* Somebody sleeps on it when the owner dies. */
static void with_waiter(pthread_mutex_t *mutex)
{
    pthread_t owner, waiter;
    shared->holds = 0;
    pthread_create(&owner, NULL, hold_and_die, mutex);
    while (!shared->holds)
        sched_yield();
    pthread_create(&waiter, NULL, wait_for_it, mutex);
    pthread_join(owner, NULL);
    pthread_join(waiter, NULL);
}

/* Given up: nobody gets it any more. */
static void not_recovered(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, die_as_thread, &shared->plain);
    pthread_join(thread, NULL);
    CHECK_IS(pthread_mutex_lock(&shared->plain), EOWNERDEAD);
    CHECK_IS(pthread_mutex_unlock(&shared->plain), 0);
    CHECK_IS(pthread_mutex_lock(&shared->plain), ENOTRECOVERABLE);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    init(&shared->plain, PTHREAD_PRIO_NONE);
    init(&shared->inheriting, PTHREAD_PRIO_INHERIT);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_t *mutex = i ? &shared->inheriting : &shared->plain;
        by_threads(mutex);
        by_processes(mutex);
        with_waiter(mutex);
    }
    not_recovered();
    return verdict();
}
