/* SPDX-License-Identifier: MIT */
/* Few events, without a library: references at constant distances from pointers that point anywhere in a line, in every order, alone, and beside others that
 * come to the same lines, or to other lines of the same sets; of sizes that cross lines; and as much code as several small caches hold, of which some is
 * used again and again while the rest comes and goes. */
#include <stdint.h>
#include <sys/syscall.h>

#ifndef ROUNDS
#define ROUNDS 400
#endif

typedef unsigned char u8;
static u8 area[1 << 16] __attribute__((aligned(4096)));

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

#define GET8(p)  (void)*(volatile u8 *)(p)
#define GET32(p) (void)*(volatile uint32_t *)(void *)(p)
#define GET64(p) (void)*(volatile uint64_t *)(void *)(p)
#define PUT64(p) (*(volatile uint64_t *)(void *)(p) = 1)

/* The first reference to a line is neither the lowest nor the highest; the second of them crosses. */
static __attribute__((noinline)) void fields(u8 *p, u8 *q)
{
    GET64(p + 24);
    GET32(p + 6);
    GET8(q + 9);
    GET8(p);
    GET64(p + 56);
    GET32(q);
    PUT64(p + 40);
    GET64(q + 56);
    GET64(p + 24);
}

/* Further apart than a line is long: several groups of one base. */
static __attribute__((noinline)) void far_fields(u8 *p, u8 *q)
{
    GET64(p + 512);
    GET64(p + 8);
    GET64(q + 130);
    GET64(p + 100);
    GET64(p - 60);
    GET64(p + 16);
    GET64(q + 62);
    GET64(p + 513);
    GET8(q);
    GET64(p + 120);
    GET64(p + 1024);
    GET64(q + 1024);
}

static __attribute__((noinline)) void wide(u8 *p, u8 *q)
{
    __asm__ volatile("movups (%0), %%xmm0\n"
                     "fxsave64 (%1)\n"
                     "movups 48(%0), %%xmm0\n"
                     "movups (%1), %%xmm0\n"
                     :
                     : "r"(p), "r"((uintptr_t)q & ~15ul)
                     : "xmm0", "memory");
}

static __attribute__((noinline)) void a_loop(u8 *p, u8 *q, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        GET64(p + 8 * i);
        PUT64(q - 8 * i);
        GET32(p);
    }
}

/* Functions in as many lines, and instructions across them. */
#define F(n)                                                                           \
    static __attribute__((noinline, aligned(64))) void f##n(u8 *p)                     \
    {                                                                                  \
        __asm__ volatile(".skip 49 - " #n ", 0x90\n"                                   \
                         "movabs $0x123456789abcdef0, %%rax\n"                         \
                         "cmpb $0, (%0)\n"                                             \
                         "jz 1f\n"                                                     \
                         ".skip 70, 0x90\n"                                            \
                         "1:"                                                          \
                         :                                                             \
                         : "r"(p)                                                      \
                         : "rax", "memory");                                           \
    }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
F(16) F(17) F(18) F(19) F(20) F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)
static void (*const functions[])(u8 *) = {f0,  f1,  f2,  f3,  f4,  f5,  f6,  f7,  f8,  f9,  f10, f11, f12, f13, f14, f15,
                                          f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28, f29, f30, f31};

static u8 *somewhere(uint32_t *x, uint32_t round)
{
    return area + 1024 + (round % 5 ? next(x) % 2048 : next(x) % (sizeof area - 4096));
}

static void round_of(uint32_t *x, uint32_t i)
{
    u8 *p = somewhere(x, i);
    u8 *q = i % 3 ? somewhere(x, i) : p + (i % 2 ? 512 * (i % 7) : i % 64);
    area[next(x) % 8]++;
    fields(p, q);
    if (i % 4 == 0)
        far_fields(p, q);
    if (i % 16 == 3)
        wide(p, q);
    if (i % 8 == 5)
        a_loop(p, q, next(x) % 40);
    functions[next(x) % (i % 100 < 60 ? 6 : 32)](area + next(x) % 4096);
    functions[i % 3](p);
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    uint32_t x = 777;
    for (uint32_t i = 0; i < ROUNDS; i++)
        round_of(&x, i);
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_exit_group), "D"(0) : "rcx", "r11", "memory");
}
