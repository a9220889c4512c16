// SPDX-License-Identifier: MIT
/* Walks over memory whose reuse distances are of all kinds: a few lines again and again, long strides, at random, over lines' ends.
 *
 *     walks [SEED [ROUNDS [THREADS [PROCESSES]]]] */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, LIMIT = 8 };

static char memory[LIMIT][BYTES + 4096];
static unsigned rounds = 20;

static uint64_t next(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void add(char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    x++;
    memcpy(p, &x, sizeof x);
}

static void stride(char *p, uint64_t *x)
{
    static const size_t steps[] = {8, 24, 64, 68, 192, 4096, 4100};
    size_t step = steps[next(x) % 7], n = 50 + next(x) % 200;
    size_t from = next(x) % (BYTES / 4);
    for (int again = 0; again < 3; again++)
        for (size_t i = 0; i < n; i++)
            add(p + (from + i * step) % BYTES);
}

static void at_random(char *p, uint64_t *x)
{
    size_t within = 64ul << next(x) % 14;
    for (int i = 0; i < 500; i++)
        add(p + next(x) % (within < BYTES ? within : BYTES));
}

/* Two streams, and a cell that both need. */
static void streams(char *p, uint64_t *x)
{
    size_t n = 100 + next(x) % 400, from = next(x) % (BYTES / 2);
    for (size_t i = 0; i < n; i++) {
        p[0] += p[(from + 16 * i) % BYTES];
        p[(from + 77777 + 24 * i) % BYTES]++;
    }
}

/* More references in one record than a batch holds. */
static void fill(char *p, uint64_t *x)
{
    char *to = p + next(x) % (BYTES / 2);
    size_t n = 20000;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
}

static void *walk(void *seed)
{
    uint64_t x = (uintptr_t)seed * 0x9e3779b97f4a7c15 + 1;
    char *p = memory[(uintptr_t)seed % LIMIT];
    for (unsigned i = 0; i < rounds; i++)
        switch (next(&x) % 16) {
        case 0:
            fill(p, &x);
            break;
        case 1 ... 5:
            stride(p, &x);
            break;
        case 6 ... 10:
            at_random(p, &x);
            break;
        default:
            streams(memory[0], &x);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    uintptr_t seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, n = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    pthread_t t[LIMIT];
    if (argc > 2)
        rounds = (unsigned)strtoul(argv[2], NULL, 10);
    for (uintptr_t i = 0, m = argc > 4 ? strtoul(argv[4], NULL, 10) : 0; i < m; i++)
        if (fork() == 0) {
            seed += 100 * (i + 1);
            break;
        }
    for (uintptr_t i = 0; i < n && i < LIMIT; i++)
        pthread_create(&t[i], NULL, walk, (void *)(seed + i + 1));
    walk((void *)seed);
    for (uintptr_t i = 0; i < n && i < LIMIT; i++)
        pthread_join(t[i], NULL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
