/* SPDX-License-Identifier: MIT */
/* Generated code of very many small blocks with an indirect branch at the end of each, run by several threads at once,
 * replaced by parts, and run again: every path gives its sum.
 *
 *   [BLOCKS]     default 4000 */
/* once: 150000 */
#include "check.h"
#include <pthread.h>

enum { THREADS = 4, BLOCK = 32 };

static unsigned char *code;
static uint32_t *order; /* the block that follows each */
static long blocks;

/* block i: lea eax,[rax+i]; dec edi; jz out; mov r11, next; jmp/call-ret/push-ret */
static void write_block(long i, long next)
{
    unsigned char *p = code + i * BLOCK;
    unsigned char *out = code + blocks * BLOCK;
    unsigned char *target = code + next * BLOCK;
    *p++ = 0x48, *p++ = 0x8d, *p++ = 0x80; /* lea rax, [rax+i] */
    memcpy(p, &(int){(int)i}, 4), p += 4;
    *p++ = 0xff, *p++ = 0xcf; /* dec edi */
    *p++ = 0x0f, *p++ = 0x84; /* jz out */
    memcpy(p, &(int){(int)(out - p - 4)}, 4), p += 4;
    *p++ = 0x49, *p++ = 0xbb; /* mov r11, target */
    memcpy(p, &target, 8), p += 8;
    if (i % 3 == 0) {
        *p++ = 0x41, *p++ = 0x53, *p++ = 0xc3; /* push r11; ret */
    } else {
        *p++ = 0x41, *p++ = 0xff, *p++ = 0xe3; /* jmp *r11 */
    }
}

static long expected(long start, long steps)
{
    long sum = 0;
    for (long i = start; steps--; i = order[i])
        sum += i;
    return sum;
}

static long run(long start, long steps)
{
    long sum;
    asm volatile("sub $128, %%rsp\n\txor %%eax, %%eax\n\tcall *%2\n\tadd $128, %%rsp"
                 : "=a"(sum), "+D"(steps)
                 : "r"(code + start * BLOCK)
                 : "r11", "memory", "cc");
    return sum;
}

static void *work(void *arg)
{
    uint32_t random = 11 + (uint32_t)(long)arg;
    CHECK_IS(run((long)arg, blocks), expected((long)arg, blocks)); /* all of them, in one go */
    for (int i = 0; i < 20; i++) {
        long start = next_random(&random) % blocks, steps = 1 + next_random(&random) % 500;
        CHECK_IS(run(start, steps), expected(start, steps));
    }
    return NULL;
}

/* A new order that visits all, by a large stride. */
static void shuffle(long stride)
{
    for (long i = 0; i < blocks; i++)
        order[i] = (uint32_t)((i + stride) % blocks);
    mprotect(code, (blocks + 1) * BLOCK, PROT_READ | PROT_WRITE);
    for (long i = 0; i < blocks; i++)
        write_block(i, order[i]);
    code[blocks * BLOCK] = 0xc3;
    mprotect(code, (blocks + 1) * BLOCK, PROT_READ | PROT_EXEC);
}

int main(int argc, char **argv)
{
    static const long stride[] = {1, 1777, 619};
    blocks = argc > 1 ? atol(argv[1]) : 4000;
    watchdog(WATCHDOG_SECONDS + blocks / 1000);
    code = map((blocks + 1) * BLOCK, PROT_READ | PROT_WRITE);
    order = map(blocks * sizeof *order, PROT_READ | PROT_WRITE);
    for (int round = 0; round < 3; round++) {
        pthread_t thread[THREADS];
        shuffle(stride[round]);
        for (long i = 0; i < THREADS; i++)
            must(!pthread_create(&thread[i], NULL, work, (void *)i), "create a thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        say("%ld\n", run(0, blocks));
    }
    return verdict();
}
