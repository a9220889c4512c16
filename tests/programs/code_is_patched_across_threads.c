/* SPDX-License-Identifier: MIT */
/* One thread patches code that others are running, as compilers at run time do: the target of a call, the bound of a
 * loop, a jump over a function that has gone out of date. Who looks will see the new code, and nobody sees a mixture. */
#include "check.h"
#include <pthread.h>

enum { RUNNERS = 3, VERSIONS = 200 };

static unsigned char *code;
static volatile int version, seen[RUNNERS];

/* At 0: mov eax, VERSION (in one aligned word); ret. At 64: call TARGET; ret. At 128..: the functions to call. */
static void write_code(void)
{
    memset(code, 0xcc, PAGE);
    code[3] = 0xb8;
    memcpy(code + 4, &(int){0}, 4);
    code[8] = 0xc3;
    code[67] = 0xe8;
    memcpy(code + 68, &(int){128 - 72}, 4);
    code[72] = 0xc3;
    put_return(code + 128, 1000);
    put_return(code + 160, 2000);
}

static void *run(void *arg)
{
    int id = (int)(long)arg, last = 0;
    while (last < VERSIONS) {
        int v = call_code(code + 3), t = call_code(code + 67);
        if (v < last || v > version + 1)
            fail("version %d after %d\n", v, last);
        if (t != 1000 && t != 2000)
            fail("the call gives %d\n", t);
        last = v;
        seen[id] = v;
        sched_yield();
    }
    return NULL;
}

static void await_all(int v)
{
    for (int i = 0; i < RUNNERS; i++)
        while (seen[i] < v)
            sched_yield();
}

/* A thread that runs one loop and nothing else until its jump back is changed. */
static void *spin(void *arg)
{
    return (void *)(long)call_code(arg);
}

static void leaves_a_loop(void)
{
    for (int round = 0; round < 20; round++) {
        pthread_t thread;
        unsigned char *at = code + 512 + round % 4 * 64;
        void *result;
        /* mov eax, 7; 1: inc ecx; jmp 1b (its displacement in one aligned word); ret */
        memcpy(at, "\xb8\x07\x00\x00\x00\xff\xc1\x90\x90\x90\x90\xe9\xf5\xff\xff\xff\xc3", 17);
        must(!pthread_create(&thread, NULL, spin, at), "create a thread");
        usleep(200);
        *(volatile int *)(at + 12) = 0; /* on to the ret */
        pthread_join(thread, &result);
        CHECK_IS((long)result, 7);
    }
}

int main(void)
{
    pthread_t runner[RUNNERS];
    watchdog(WATCHDOG_SECONDS);
    code = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    write_code();
    for (long i = 0; i < RUNNERS; i++)
        must(!pthread_create(&runner[i], NULL, run, (void *)i), "create a thread");
    for (int v = 1; v <= VERSIONS; v++) {
        version = v;
        __atomic_store_n((int *)(code + 4), v, __ATOMIC_SEQ_CST);
        __atomic_store_n((int *)(code + 68), (v % 2 ? 160 : 128) - 72, __ATOMIC_SEQ_CST);
        CHECK_IS(call_code(code + 3), v);
        CHECK_IS(call_code(code + 67), v % 2 ? 2000 : 1000);
        await_all(v);
    }
    for (int i = 0; i < RUNNERS; i++)
        pthread_join(runner[i], NULL);
    leaves_a_loop();
    return verdict();
}
