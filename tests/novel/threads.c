// SPDX-License-Identifier: MIT
// Threads and processes that call functions a known number of times.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile unsigned sink;
#define OWN __attribute__((noinline))

OWN void often(void) { sink++; }
OWN void sometimes(void) { sink--; }
OWN void once(void) { sink ^= 1; }
OWN void in_child(void) { sink += 2; }

static void *run(void *last)
{
    for (int i = 0; i < 20000; i++) {
        often();
        if (i % 2000 == 1999)
            sometimes();
        if (last && i == 19000)
            once();
    }
    return 0;
}

int main(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], 0, run, i == 3 ? (void *)1 : 0);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], 0);
    if (fork() == 0) {
        for (int i = 0; i < 20000; i++)
            in_child();
        run(0);
        _exit(0);
    }
    wait(0);
    return 0;
}
