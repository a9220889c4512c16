/* SPDX-License-Identifier: MIT */
/* Threads are cancelled in calls that sleep, just before them, in loops, and in none of these while they refuse; the
 * stack unwinds, every cleanup runs once, locks come back. */
#include "check.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>

enum { ROUNDS = 12 };

static int fds[2];
static sem_t started;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t never_posted;
static volatile int cleaned;

static void clean(void *arg)
{
    cleaned += (int)(long)arg;
}

static void unlock(void *arg)
{
    (void)arg;
    pthread_mutex_unlock(&lock);
}

static void sleep_in_read(void)
{
    char byte;
    CHECK_IS(read(fds[0], &byte, 1), 1); /* never */
}

static void sleep_in_poll(void)
{
    poll(NULL, 0, -1);
}

static void sleep_in_nanosleep(void)
{
    nanosleep(&(struct timespec){.tv_sec = 3600}, NULL);
}

static void sleep_in_pause(void)
{
    pause();
}

static void sleep_in_wait(void)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, NULL);
    for (;;)
        pthread_cond_wait(&never, &lock);
    pthread_cleanup_pop(0);
}

static void sleep_in_semaphore(void)
{
    sem_wait(&never_posted);
}

static void test_in_a_loop(void)
{
    for (;;)
        pthread_testcancel();
}

static void any_time(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (volatile long i = 0;; i++)
        ;
}

static void refuse_first(void)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    for (int i = 0; i < 20; i++)
        usleep(20);
    cleaned += 1000;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sleep_in_pause();
}

static const struct {
    const char *name;
    void (*run)(void);
    int cleans;
} ways[] = {
    {"read", sleep_in_read, 111},           {"poll", sleep_in_poll, 111},
    {"nanosleep", sleep_in_nanosleep, 111}, {"pause", sleep_in_pause, 111},
    {"condition", sleep_in_wait, 111},      {"semaphore", sleep_in_semaphore, 111},
    {"test", test_in_a_loop, 111},          {"any time", any_time, 111},
    {"refused", refuse_first, 1111},
};

__attribute__((noinline)) static void nested(void (*run)(void), int depth)
{
    pthread_cleanup_push(clean, (void *)(long)(depth == 2 ? 100 : depth == 1 ? 10 : 1));
    if (depth)
        nested(run, depth - 1);
    else {
        sem_post(&started);
        run();
    }
    pthread_cleanup_pop(0);
}

static void *body(void *arg)
{
    nested((void (*)(void))(uintptr_t)arg, 2);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    void *result;
    watchdog(WATCHDOG_SECONDS);
    must(!pipe(fds), "make a pipe");
    sem_init(&started, 0, 0);
    sem_init(&never_posted, 0, 0);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        for (int round = 0; round < ROUNDS; round++) {
            cleaned = 0;
            must(!pthread_create(&thread, NULL, body, (void *)(uintptr_t)ways[i].run),
                 "create a thread");
            if (round % 3 != 0) /* else at any moment, perhaps before the cleanups are there */
                while (sem_wait(&started))
                    ;
            if (round % 3 == 2)
                usleep(100 * round);
            CHECK_IS(pthread_cancel(thread), 0);
            pthread_join(thread, &result);
            CHECK(result == PTHREAD_CANCELED);
            if (round % 3 != 0 && cleaned != ways[i].cleans)
                fail("%s: cleaned %d\n", ways[i].name, cleaned);
            while (!sem_trywait(&started))
                ;
        }
        CHECK_IS(pthread_mutex_trylock(&lock), 0);
        pthread_mutex_unlock(&lock);
        say("%s\n", ways[i].name);
    }
    return verdict();
}
