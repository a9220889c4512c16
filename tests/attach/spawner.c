/* SPDX-License-Identifier: MIT */
/* Up to 200 threads that come and go without end, each with a result that is checked. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 200 };

static void *work(void *arg)
{
    uint64_t x = (uint64_t)arg;
    for (int i = 0; i < 20000; i++)
        x = x * 6364136223846793005ull + 1442695040888963407ull;
    if (x % 7 == 0)
        usleep(1000);
    return (void *)x;
}

int main(void)
{
    uint64_t expected[THREADS];
    setvbuf(stdout, NULL, _IONBF, 0);
    for (uint64_t i = 0; i < THREADS; i++)
        expected[i] = (uint64_t)work((void *)i);
    puts("ready");
    for (uint64_t n = 1;; n++) {
        pthread_t id[THREADS];
        for (uint64_t i = 0; i < THREADS; i++)
            if (pthread_create(&id[i], NULL, work, (void *)i)) {
                puts("a thread could not be made");
                return 1;
            }
        for (uint64_t i = 0; i < THREADS; i++) {
            void *x;
            pthread_join(id[i], &x);
            if ((uint64_t)x != expected[i])
                printf("thread %lu has a wrong result\n", (unsigned long)i);
        }
        puts("round");
    }
}
