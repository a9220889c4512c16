/* SPDX-License-Identifier: MIT */
/* Data of every kind: what it is called is known from the source, where it is is told by the program. */
#include "things.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

struct inner {
    short a, b;
};
struct node {
    int key;
    double weight[4];
    struct node *next;
    struct inner in[3];
};

static struct node grid[100];
struct {
    int n;
    long table[300];
    struct node one;
    union {
        double d;
        long l;
    } either;
} config;
double plain[1000];
int matrix[20][30];
static struct node square[5][7];
const char *volatile text = "text";

__attribute__((noinline)) static int count(void)
{
    static int calls[64];
    NAMED("count::calls", calls);
    for (int i = 0; i < 64; i++)
        calls[i] += i;
    return calls[3];
}

__attribute__((noinline)) static void statics(void)
{
    EACH("grid[..].key", grid, .key);
    EACH("grid[..].weight", grid, .weight);
    EACH("grid[..].next", grid, .next);
    for (int i = 0; i < 3; i++)
        tell("static", "grid[..].in[..].b", &grid[0].in[i].b, 2, sizeof grid[0], 100, 0);
    tell("static", "square[..][..].next", &square[0][0].next, 8, sizeof square[0][0], 35, 0);
    VARIABLE(config.n);
    VARIABLE(config.table);
    VARIABLE(config.one.key);
    VARIABLE(config.either.d);
    VARIABLE(plain);
    VARIABLE(matrix);
    VARIABLE(text);
    for (int i = 0; i < 100; i++) {
        grid[i].key = i;
        grid[i].weight[i % 4] = i;
        grid[i].next = &grid[(i + 1) % 100];
        grid[i].in[i % 3].b = 1;
        square[i % 5][i % 7].next = grid;
    }
    config.n = 5;
    for (int i = 0; i < 300; i++)
        config.table[i] = i;
    config.one.key = 3;
    config.either.d = 4;
    for (int i = 0; i < 1000; i++)
        plain[i] = i;
    for (int i = 0; i < 600; i++)
        matrix[i / 30][i % 30] = i;
    text = "other";
}

__attribute__((noinline)) static void *make(unsigned long n)
{
    void *p = malloc(n); unsigned long line = __LINE__;
    BLOCK(p, n, "make", line);
    touch(p, n);
    return p;
}

static void drop(void *p)
{
    GONE(p);
    free(p);
}

/* What was freed is nobody's, though the program may still use it. */
__attribute__((noinline)) static void touch_freed(volatile char *p, int n)
{
    for (int i = 0; i < n; i += 16)
        p[i] = 1;
}

static void freed(void)
{
    char *p = make(2000);
    drop(p);
    tell("local", "heap", p + 64, 1800, 0, 1, 0);
    touch_freed(p + 64, 1800);
    GONE(p + 64);
}

/* Of every function; what is freed is given out again, to somebody else. */
__attribute__((noinline)) static void blocks(void)
{
    void *a = make(1000), *b = make(3000), *p, *q;
    drop(a);
    p = calloc(10, 100); BLOCK(p, 1000, "blocks", __LINE__); touch(p, 1000); drop(p);
    p = malloc(20); BLOCK(p, 20, "blocks", __LINE__); touch(p, 20);
    q = malloc(900); BLOCK(q, 900, "blocks", __LINE__); touch(q, 900);
    GONE(p); p = realloc(p, 5000); BLOCK(p, 5000, "blocks", __LINE__); touch(p, 5000); drop(p);
    drop(q);
    p = reallocarray(NULL, 50, 30); BLOCK(p, 1500, "blocks", __LINE__); touch(p, 1500); drop(p);
    p = aligned_alloc(256, 512); BLOCK(p, 512, "blocks", __LINE__); touch(p, 512); drop(p);
    p = memalign(512, 700); BLOCK(p, 700, "blocks", __LINE__); touch(p, 700); drop(p);
    if (posix_memalign(&p, 1024, 800)) abort(); BLOCK(p, 800, "blocks", __LINE__); touch(p, 800); drop(p);
    p = valloc(100); BLOCK(p, 100, "blocks", __LINE__); touch(p, 100); drop(p);
    p = malloc(200000); BLOCK(p, 200000, "blocks", __LINE__); touch(p, 200000); drop(p);
    p = mmap(NULL, 40960, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); MAPPING(p, 40960, "blocks", __LINE__); touch(p, 40960); GONE(p); munmap(p, 40960);
    p = malloc(30); BLOCK(p, 30, "blocks", __LINE__); touch(p, 30); GONE(p); p = realloc(p, 0);
    drop(b);
    for (int i = 0; i < 40; i++) {
        p = malloc(16 + 8 * i); BLOCK(p, 16 + 8 * i, "blocks", __LINE__);
        ((volatile char *)p)[i % 16] = 1;
        drop(p);
    }
}

__attribute__((noinline)) static int locals(int n)
{
    int array[50];
    struct node here = {0};
    volatile int single = 0;
    LOCAL("locals::array", array);
    LOCAL("locals::here.weight", here.weight);
    LOCAL("locals::single", single);
    for (int i = 0; i < 50; i++)
        array[i] = i + n;
    here.weight[2] = array[3];
    single += array[7];
    int result = single + (int)here.weight[2];
    GONE(array);
    GONE(here.weight);
    GONE(&single);
    return result;
}

int main(void)
{
    statics();
    count();
    blocks();
    freed();
    locals(3);
    tell_all();
    return 0;
}
