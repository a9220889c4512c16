/* SPDX-License-Identifier: MIT */
/* A jump through a word goes where the word leads now: words that were made read-only and are changed all the same, by making them writable
 * for a while, by a new mapping, by moving another one there, under other threads too; and entries of a linkage table that are bound when they are
 * first used, bound again, and bound elsewhere. */
#include "check.h"
#include <pthread.h>

enum { CALLS = 3000, ROUNDS = 12 };

static long one(long x) { return x + 1; }
static long two(long x) { return x + 2; }
static long (*const functions[])(long) = {one, two};

/* The words have pages of their own. */
struct words {
    long (*function)(long);
    char rest[PAGE - sizeof(void *)];
};
static struct words sealed __attribute__((aligned(PAGE), used)), lazy __attribute__((aligned(PAGE), used));

/* What the linkage table's entry for a function looks like, with somebody behind it who binds it. */
long through_sealed(long x), through_lazy(long x);
static long bound_to; /* which function; and how often somebody had to look */
static long binds;
__attribute__((used)) static long bind_it(long x)
{
    binds++;
    lazy.function = functions[bound_to];
    return functions[bound_to](x);
}
__asm__(".text\n"
        ".globl through_sealed\nthrough_sealed: jmp *sealed(%rip)\n"
        ".p2align 4\n.globl through_lazy\nthrough_lazy: jmp *lazy(%rip)\n"
        "lazy_rest: push $7\n jmp lazy_bind\n"
        "lazy_bind: add $8, %rsp\n jmp bind_it\n");
extern char lazy_rest[];

static long call_often(long (*f)(long))
{
    long sum = 0;
    for (long i = 0; i < CALLS; i++)
        sum = f(sum);
    return sum;
}

static void change_protection(int round)
{
    CHECK(!mprotect(&sealed, PAGE, PROT_READ | PROT_WRITE));
    sealed.function = functions[round & 1];
    CHECK(!mprotect(&sealed, PAGE, PROT_READ));
}

static struct words *new_page(int round)
{
    struct words *w = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(w != MAP_FAILED);
    w->function = functions[round & 1];
    CHECK(!mprotect(w, PAGE, PROT_READ));
    return w;
}

static void move_there(int round)
{
    CHECK(mremap(new_page(round), PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, &sealed) == &sealed);
}

static void map_anew(int round)
{
    CHECK(mmap(&sealed, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == &sealed);
    sealed.function = functions[round & 1];
    if (round & 2)
        CHECK(!mprotect(&sealed, PAGE, PROT_READ));
}

static void constants(void)
{
    void (*const change[])(int) = {change_protection, move_there, map_anew};
    for (int round = 0; round < ROUNDS; round++) {
        change[round % 3](round);
        CHECK(call_often(through_sealed) == CALLS * (1 + (round & 1)));
    }
}

/* Whoever has been told of a change finds it, wherever he was meanwhile. */
enum { THREADS = 2, CHANGES = 100 };
static int told, heard;
static void *follow(void *ignored)
{
    (void)ignored;
    for (int round = 1; round <= CHANGES; round++) {
        while (__atomic_load_n(&told, __ATOMIC_ACQUIRE) < round)
            through_sealed(0);
        CHECK(call_often(through_sealed) == CALLS * (1 + (round & 1)));
        __atomic_add_fetch(&heard, 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

static void constants_under_threads(void)
{
    pthread_t thread[THREADS];
    change_protection(0);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, follow, NULL));
    for (int round = 1; round <= CHANGES; round++) {
        change_protection(round);
        __atomic_store_n(&told, round, __ATOMIC_RELEASE);
        while (__atomic_load_n(&heard, __ATOMIC_ACQUIRE) < round * THREADS)
            usleep(10);
    }
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_join(thread[i], NULL));
}

static void entries(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        bound_to = round & 1;
        lazy.function = (long (*)(long))(void *)lazy_rest;
        CHECK(call_often(through_lazy) == CALLS * (1 + (round & 1)));
        usleep(2000); /* the unit is made anew meanwhile */
        CHECK(call_often(through_lazy) == CALLS * (1 + (round & 1)));
        lazy.function = functions[!(round & 1)]; /* by somebody else */
        CHECK(call_often(through_lazy) == CALLS * (2 - (round & 1)));
    }
    CHECK(binds == ROUNDS);
}

int main(void)
{
    constants();
    constants_under_threads();
    entries();
    return verdict();
}
