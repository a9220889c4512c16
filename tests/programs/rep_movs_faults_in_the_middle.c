/* SPDX-License-Identifier: MIT */
/* String instructions that fault in the middle leave rsi, rdi and rcx where they got to, and go on from there; a count
 * of nothing touches nothing; both directions; and a signal in a long one is delivered without doubling or losing a
 * byte. */
#include "check.h"

static char *from, *to; /* each: open, closed, open page */
static volatile int arrived;
static volatile long at_rsi, at_rdi, at_rcx;
static volatile const char *at_address;
static volatile bool is_leaving;
static sigjmp_buf out;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    arrived++;
    CHECK(is_own_text(reg[REG_RIP]));
    at_rsi = reg[REG_RSI];
    at_rdi = reg[REG_RDI];
    at_rcx = reg[REG_RCX];
    at_address = info->si_addr;
    if (is_leaving)
        siglongjmp(out, 1);
    char *page = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(PAGE - 1));
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void reset(bool close_from, bool close_to)
{
    mprotect(from, 3 * PAGE, PROT_READ | PROT_WRITE);
    mprotect(to, 3 * PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 3 * PAGE; i++)
        from[i] = (char)(i * 31 + 7);
    memset(to, 0, 3 * PAGE);
    if (close_from)
        mprotect(from + PAGE, PAGE, PROT_NONE);
    if (close_to)
        mprotect(to + PAGE, PAGE, PROT_READ);
}

/* One copy of n elements over the page's border; what the registers are afterwards. */
struct string_regs {
    char *si, *di;
    long cx;
};

#define COPY(letter)                                                                            \
    static struct string_regs copy_##letter(struct string_regs r, bool down)                    \
    {                                                                                           \
        if (down)                                                                               \
            asm volatile("std\n\trep movs" #letter "\n\tcld"                                    \
                         : "+S"(r.si), "+D"(r.di), "+c"(r.cx)                                   \
                         :                                                                      \
                         : "memory");                                                           \
        else                                                                                    \
            asm volatile("rep movs" #letter : "+S"(r.si), "+D"(r.di), "+c"(r.cx) : : "memory"); \
        return r;                                                                               \
    }
COPY(b)
COPY(w)
COPY(l)
COPY(q)
static struct string_regs (*const copy[])(struct string_regs, bool) = {copy_b, copy_w, copy_l,
                                                                       copy_q};

static void over_the_border(int log_size, bool down, bool close_from)
{
    int size = 1 << log_size, count = 64, before = arrived;
    /* Half of it on each side of a border of the middle page. */
    long start = down ? 2 * PAGE + 31 * size : PAGE - 32 * size;
    struct string_regs r = {from + start, to + start, count}, wanted = r;
    reset(close_from, !close_from);
    struct string_regs got = copy[log_size](r, down);
    CHECK_IS(arrived, before + 1);
    CHECK_IS(at_rcx, 32);
    CHECK_IS(at_rsi - (long)r.si, down ? -32 * size : 32 * size);
    CHECK_IS(at_rdi - (long)r.di, down ? -32 * size : 32 * size);
    wanted.si += down ? -count * size : count * size;
    wanted.di += down ? -count * size : count * size;
    CHECK(got.si == wanted.si && got.di == wanted.di && got.cx == 0);
    char *low = down ? to + start - 63 * size : to + start;
    CHECK_IS(memcmp(low, from + (low - to), 64 * size), 0);
    for (int i = 0; i < 3 * PAGE; i++)
        if ((to + i < low || to + i >= low + 64 * size) && to[i])
            fail("byte %d is written, too\n", i);
}

/* Nothing is touched, not even looked at, when the count is 0. */
static void of_nothing(void)
{
    struct string_regs r = {(char *)8, (char *)16, 0};
    int before = arrived;
    for (int i = 0; i < 4; i++) {
        struct string_regs got = copy[i](r, false);
        CHECK(got.si == r.si && got.di == r.di && got.cx == 0);
    }
    asm volatile("stc\n\trepe cmpsb" : "+S"(r.si), "+D"(r.di), "+c"(r.cx) : : "memory", "cc");
    asm volatile("repne scasb" : "+D"(r.di), "+c"(r.cx) : "a"(1) : "memory", "cc");
    asm volatile("rep stosq" : "+D"(r.di), "+c"(r.cx) : "a"(1) : "memory");
    asm volatile("rep lodsq" : "+S"(r.si), "+c"(r.cx) : : "memory", "rax");
    CHECK(r.si == (char *)8 && r.di == (char *)16 && r.cx == 0);
    CHECK_IS(arrived, before);
}

static void others(void)
{
    long count, value;
    char *p, *q;
    int before = arrived;
    reset(false, true); /* stos into the closed page */
    p = to + PAGE - 8 * 5, count = 10;
    asm volatile("rep stosq" : "+D"(p), "+c"(count) : "a"(0x0102030405060708) : "memory");
    CHECK(p == to + PAGE + 40 && count == 0 && arrived == before + 1);
    CHECK(at_rcx == 5 && at_address == to + PAGE && to[PAGE + 39] == 1 && !to[PAGE + 40]);
    reset(true, false); /* cmps, equal all along */
    memcpy(to, from, PAGE);
    p = from + PAGE - 20, q = to + PAGE - 20, count = 40;
    mprotect(from + PAGE, PAGE, PROT_READ);
    memcpy(to + PAGE, from + PAGE, PAGE);
    mprotect(from + PAGE, PAGE, PROT_NONE);
    asm volatile("repe cmpsb" : "+S"(p), "+D"(q), "+c"(count) : : "memory", "cc");
    CHECK(p == from + PAGE + 20 && count == 0 && arrived == before + 2 && at_rcx == 20);
    reset(true, false); /* cmps that ends before the fault */
    memcpy(to, from, PAGE);
    to[PAGE - 3] ^= 1;
    p = from + PAGE - 20, q = to + PAGE - 20, count = 40;
    asm volatile("repe cmpsb" : "+S"(p), "+D"(q), "+c"(count) : : "memory", "cc");
    CHECK(p == from + PAGE - 2 && count == 22 && arrived == before + 2);
    reset(false, false); /* scas */
    memset(to, 'x', 3 * PAGE);
    to[PAGE + 9] = 'y';
    mprotect(to + PAGE, PAGE, PROT_NONE);
    p = to + PAGE - 10, count = 100;
    asm volatile("repne scasb" : "+D"(p), "+c"(count) : "a"('y') : "memory", "cc");
    CHECK(p == to + PAGE + 10 && count == 80 && arrived == before + 3 && at_rcx == 90);
    reset(true, false); /* lods */
    p = from + PAGE - 16, count = 4;
    asm volatile("rep lodsq" : "+S"(p), "+c"(count), "=a"(value) : : "memory");
    CHECK(p == from + PAGE + 16 && count == 0 && arrived == before + 4 && at_rcx == 2);
    CHECK_IS(value, *(long *)(from + PAGE + 8));
    is_leaving = true; /* left for good: half of it stays done */
    reset(false, true);
    if (!sigsetjmp(out, 1))
        copy_b((struct string_regs){from + PAGE - 7, to + PAGE - 7, 100}, false);
    is_leaving = false;
    CHECK(at_rcx == 93 && at_rdi == (long)to + PAGE && !memcmp(to + PAGE - 7, from + PAGE - 7, 7));
    CHECK_IS(to[PAGE], 0);
}

static void on_pulse(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig, (void)info;
    CHECK(is_own_text(reg[REG_RIP]));
    if (reg[REG_R15] == 0x4711471147114711) /* in the copy: progress and rest add up */
        CHECK_IS(reg[REG_RCX] + (reg[REG_RSI] - reg[REG_R14]), reg[REG_R13]);
}

/* Copies of megabytes, one of them overlapping itself, under signals. */
static void long_ones(void)
{
    enum { SIZE = 1 << 20 };
    unsigned char *a = map(SIZE + PAGE, PROT_READ | PROT_WRITE),
                  *b = map(SIZE + PAGE, PROT_READ | PROT_WRITE);
    handle(SIGALRM, on_pulse, 0);
    pulse_start(SIGALRM);
    for (int turn = 0; turn < 30; turn++) {
        struct string_regs r = {(char *)a, (char *)b, SIZE};
        for (int i = 0; i < SIZE; i += 61)
            a[i] = (unsigned char)(i + turn);
        b[SIZE] = 0x55;
        pulse_in(1000 + turn * 2000);
        asm volatile("mov %%rsi, %%r14\n\tmov %%rcx, %%r13\n\t"
                     "mov $0x4711471147114711, %%r15\n\t"
                     "rep movsb\n\t"
                     "xor %%r15d, %%r15d"
                     : "+S"(r.si), "+D"(r.di), "+c"(r.cx)
                     :
                     : "memory", "r13", "r14", "r15", "cc");
        CHECK_IS(memcmp(a, b, SIZE), 0);
        CHECK_IS(b[SIZE], 0x55);
        CHECK(r.cx == 0 && r.si == (char *)a + SIZE);
    }
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    from = map(3 * PAGE, PROT_READ | PROT_WRITE);
    to = map(3 * PAGE, PROT_READ | PROT_WRITE);
    handle(SIGSEGV, on_fault, 0);
    for (int turn = 0; turn < 5; turn++) {
        for (int i = 0; i < 16; i++)
            over_the_border(i % 4, i & 4, i & 8);
        of_nothing();
        others();
    }
    say("%d faults\n", arrived);
    long_ones();
    return verdict();
}
