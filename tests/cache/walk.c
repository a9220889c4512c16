/* SPDX-License-Identifier: MIT */
/* Few events, of every kind, without a library: references at random and in strides, of all sizes, across lines and pages; code that
 * takes many lines; lines of which each thread writes bytes of its own, and some that all write; a line of two variables. Threads come one after the other and
 * are short, so that those of a core alternate with others', in whatever portions they come into the trace. */
#include <linux/futex.h>
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>

#ifndef THREADS
#define THREADS 0 /* besides the first */
#endif
#ifndef ROUNDS
#define ROUNDS 100 /* of each thread */
#endif

enum { AREA = 1 << 17 };
static unsigned char area[AREA] __attribute__((aligned(4096)));
_Static_assert(THREADS <= 20, "each has bytes of its own in a line of `apart`");
static unsigned char apart[4][64] __attribute__((aligned(4096)));
static unsigned char together[256] __attribute__((aligned(4096)));
__asm__(".data\n.p2align 6\n"
        ".type left, @object\n.size left, 4\nleft: .int 0\n"
        ".type right, @object\n.size right, 4\nright: .int 0\n"
        ".p2align 6\n.text");
extern int left, right;
static unsigned char stacks[1 + THREADS][4096] __attribute__((aligned(4096)));
static unsigned char far[4][2 << 20]; /* pages of 2 MB */
static volatile int running;

static long call(long n, long a, long b, long c, long d, long e)
{
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
    return result;
}

static uint32_t next(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

/* Functions that lie far from each other. */
#define F(n)                                                                                             \
    static __attribute__((noinline, aligned(256))) void f##n(unsigned char *p, uint32_t what)            \
    {                                                                                                    \
        if (what & 1)                                                                                    \
            *(volatile uint64_t *)(void *)(p + (n) * 7) = what;                                          \
        else                                                                                             \
            *(volatile uint32_t *)(void *)(p + (n) * 5) += what;                                         \
    }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15)
static void (*const functions[])(unsigned char *, uint32_t) = {f0, f1, f2,  f3,  f4,  f5,  f6,  f7,
                                                               f8, f9, f10, f11, f12, f13, f14, f15};

static void one(unsigned char *p, uint32_t what)
{
    switch (what % 5) {
    case 0:
        *(volatile uint8_t *)p += 1;
        break;
    case 1:
        (void)*(volatile uint64_t *)(void *)p;
        break;
    case 2:
        *(volatile uint32_t *)(void *)p = what;
        break;
    case 3:
        __asm__ volatile("rep stosb" : "+D"(p) : "a"(what), "c"(what % 19) : "memory");
        break;
    default:
        functions[what / 5 % 16](p, what);
    }
}

static void walk(uint32_t seed, int who)
{
    uint32_t x = seed;
    for (int i = 0; i < ROUNDS; i++) {
        one(area + next(&x) % (i % 3 ? 4096 : AREA - 256), next(&x));
        one(area + 4096 - 3 + i % 7, x);
        apart[i % 4][who * 3 + i % 3]++;
        together[next(&x) % 4 * 64] ^= (unsigned char)x;
        far[x % 4][x / 4 % 3 * 4096]++;
        if (who % 2)
            left++;
        else
            right++;
        for (int k = 0; k < 6; k++) /* strides, up and down */
            *(volatile uint32_t *)(void *)(area + (i % 2 ? 600 * k : 4096 * 9 - 40 * k) + i / 8 * 64) += 1;
    }
}

static __attribute__((used)) void child(long who)
{
    walk(99991u * (uint32_t)(who + 1), (int)who);
    running = 0;
    call(SYS_futex, (long)&running, FUTEX_WAKE, 1, 0, 0);
    call(SYS_exit, 0, 0, 0, 0, 0);
}

static void start(long who)
{
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    void **stack = (void **)(void *)(stacks[who] + sizeof stacks[who] - 64);
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    long result = SYS_clone;
    stack[0] = (void *)who;
    __asm__ volatile("syscall\n"
                     "test %%eax, %%eax\n"
                     "jnz 1f\n"
                     "pop %%rdi\n"
                     "xor %%ebp, %%ebp\n"
                     "call child\n"
                     "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(0L), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
}

__attribute__((force_align_arg_pointer)) void _start(void)
{
    if (!THREADS)
        walk(12345, 0);
    for (long i = 1; i <= THREADS; i++) {
        running = 1;
        start(i);
        while (running)
            call(SYS_futex, (long)&running, FUTEX_WAIT, 1, 0, 0);
    }
    call(SYS_exit_group, 0, 0, 0, 0, 0);
}
