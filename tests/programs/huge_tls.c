/* SPDX-License-Identifier: MIT */
/* Thread-local areas of megabytes, with large alignment and initial values, in many threads at once and through
 * destructors: each thread has its own, through every kind of access. */
#include "check.h"
#include <pthread.h>

enum { THREADS = 8, BIG = 1 << 20 };

static __thread char big[BIG];
static __thread long numbers[1000] = {1, 2, 3};
static __thread struct {
    char first;
    long double value;
} __attribute__((aligned(4096))) in_line = {'a', 2.5L};
__thread int exported = 7;
static pthread_key_t key;
static volatile int destroyed;
static pthread_barrier_t barrier;

static void destroy(void *value)
{
    CHECK_IS((long)value, numbers[500]);
    CHECK_IS(exported, (int)(long)value);
    __sync_fetch_and_add(&destroyed, 1);
}

static void *work(void *arg)
{
    long id = (long)arg;
    CHECK_IS((uintptr_t)&in_line % 4096, 0);
    CHECK(in_line.first == 'a' && in_line.value == 2.5L);
    CHECK(numbers[0] == 1 && numbers[2] == 3 && numbers[3] == 0 && exported == 7);
    for (int i = 0; i < BIG; i += 4096)
        CHECK_IS(big[i], 0);
    memset(big, (int)id, BIG);
    numbers[500] = id;
    exported = (int)id;
    pthread_setspecific(key, (void *)id);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < BIG; i += 997)
        if (big[i] != (char)id) {
            fail("byte %d of thread %ld is another's\n", i, id);
            break;
        }
    asm volatile("addl $1, %%fs:exported@tpoff" : : : "memory", "cc");
    CHECK_IS(exported, id + 1);
    exported = (int)id;
    CHECK_IS(numbers[500], id);
    return &big[BIG - 1];
}

int main(void)
{
    pthread_t thread[THREADS];
    void *last[THREADS];
    watchdog(WATCHDOG_SECONDS);
    pthread_key_create(&key, destroy);
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int round = 0; round < 3; round++) {
        for (long i = 0; i < THREADS; i++)
            must(!pthread_create(&thread[i], NULL, work, (void *)(i + 1)), "create a thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], &last[i]);
        for (int i = 0; i < THREADS; i++)
            for (int k = 0; k < i; k++)
                CHECK(last[i] != last[k]);
    }
    CHECK_IS(big[0], 0);
    CHECK_IS(exported, 7);
    say("%d destroyed\n", destroyed);
    return verdict();
}
