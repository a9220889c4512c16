/* SPDX-License-Identifier: MIT */
/* Fill the world, run a sequence in it, and look at what it left.
 *
 * Left out of the comparison, because a processor or docs/limits.md says so: the x87 pointers to
 * instruction, operand and opcode, wherever they are stored, and, of an xsave area, which of the
 * components that hold their first values are marked as unused. */
#include "world.h"
#include "rng.h"

#include <cpuid.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

enum { PAGE = 4096, MXCSR_MASKED = 0x1f80, FCW_MASKED = 0x37f, FLAGS_MAKE = 0xcd5, FLAGS_ON = 2 };
enum { XSTATE_BV = 512, XCOMP_BV = 520, XSAVE_HEAD = 576, COMPONENTS = 10 };

#define IN  ((struct state *)(uintptr_t)IN_AT)
#define OUT ((struct state *)(uintptr_t)OUT_AT)

int state_enter(void);
extern const u8 state_leave[], state_abort[];

/* -- Memory ----------------------------------------------------------------------------------- */

/* What is set before each round and compared after it. */
struct part {
    const char *name;
    u64 at;
    u32 size;
    u16 uses; /* only for sequences that use one of these; 0: for all */
    u32 image;
};
static const struct part parts[] = {
    {"low", LOW_AT, 2 * PAGE, 0, 0},
    {"high", HIGH_AT, PAGE, 0, 2 * PAGE},
    {"fs low", LOW_AT + FS_AWAY, 2 * PAGE, USES_FS, 3 * PAGE},
    {"fs high", HIGH_AT + FS_AWAY, PAGE, USES_FS, 5 * PAGE},
    {"gs low", LOW_AT + GS_AWAY, 2 * PAGE, USES_GS, 6 * PAGE},
    {"gs high", HIGH_AT + GS_AWAY, PAGE, USES_GS, 8 * PAGE},
    {"save", SAVE_AT, 2 * PAGE, USES_SAVE, 9 * PAGE},
};
static u8 image[11 * PAGE]; /* what every round begins with */
static u8 seen[11 * PAGE];  /* what it left, with the fields that do not count set to 0 */

static void *at(u64 address)
{
    return (void *)(uintptr_t)address;
}

static void map_at(u64 address, size_t size)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    if (mmap(at(address), size, PROT_READ | PROT_WRITE, flags, -1, 0) == at(address))
        return;
    fprintf(stderr, "random_state: cannot map 0x%llx: something else is there\n",
            (unsigned long long)address);
    exit(2);
}

/* Eight bytes that interest some instruction: integers, floats, doubles, all or nothing. */
static u64 some_lane(struct rng *r)
{
    u64 x = rng_next(r);
    switch (x & 7) {
    case 0: /* two floats of ordinary size */
        return (x & 0x81ffffff81ffffff) | (u64)rng_between(r, 0x7d, 0x81) << 55 |
               (u64)rng_between(r, 0x7d, 0x81) << 23;
    case 1: /* a double of ordinary size */
        return (x & 0x800fffffffffffff) | (u64)rng_between(r, 0x3fb, 0x405) << 52;
    case 2:
        return (u64)(s64)rng_between(r, -128, 127);
    case 3:
        return x & 8 ? 0 : ~0ull;
    default:
        return x;
    }
}

static void fill(struct rng *r, void *to, size_t size)
{
    for (size_t i = 0; i + 8 <= size; i += 8) {
        u64 x = some_lane(r);
        memcpy((u8 *)to + i, &x, 8);
    }
}

static void put_32(u64 address, u32 x)
{
    memcpy(&image[9 * PAGE + (address - SAVE_AT)], &x, 4);
}

/* Save areas that may be loaded before anything was stored there. */
static void fill_save_areas(void)
{
    memset(image + 9 * PAGE, 0, 2 * PAGE);
    put_32(XSAVE_AT + 24, MXCSR_MASKED);
    put_32(XSAVEC_AT + 24, MXCSR_MASKED);
    put_32(XSAVEC_AT + XCOMP_BV, (u32)world_components());
    put_32(XSAVEC_AT + XCOMP_BV + 4, 1u << 31);
    put_32(FXSAVE_AT, FCW_MASKED);
    put_32(FXSAVE_AT + 24, MXCSR_MASKED);
    put_32(FNSTENV_AT, FCW_MASKED);
    put_32(FNSTENV_AT + 8, 0xffff);
    put_32(FNSTENVW_AT, FCW_MASKED);
    put_32(FNSTENVW_AT + 4, 0xffff);
    put_32(FNSAVE_AT, FCW_MASKED);
    put_32(FNSAVE_AT + 8, 0xffff);
    put_32(FNSAVEW_AT, FCW_MASKED);
    put_32(FNSAVEW_AT + 4, 0xffff);
}

static u64 some_pointer(struct rng *r, bool high)
{
    return (high ? HIGH_AT : LOW_AT) + PAGE / 2 + 64 * (u64)(s64)rng_between(r, -4, 4);
}

static void fill_constants(void)
{
    struct rng r = {1};
    for (u32 i = 0; i < 16; i++) {
        ((u64 *)at(POINTERS_AT))[i] = some_pointer(&r, i & 1);
        ((u32 *)at(MXCSRS_AT))[i] = MXCSR_MASKED | (rng_below(&r, 65536) & 0xe07f);
        ((u16 *)at(FCWS_AT))[i] = (u16)(0x7f | (rng_below(&r, 16) << 8));
    }
    for (u32 i = 0; i < 64; i++) {
        ((s8 *)at(SMALLS_AT))[i] = (s8)rng_between(&r, -32, 31);
        ((s32 *)at(DWORDS_AT))[i] = rng_between(&r, -32, 31);
        if (i < 32)
            ((s64 *)at(QWORDS_AT))[i] = rng_between(&r, -32, 31);
    }
    *(u64 *)at(LEAVE_AT) = (u64)(uintptr_t)state_leave;
    mprotect(at(CONST_AT), PAGE, PROT_READ);
}

enum vector_level world_level(void)
{
    u32 a, b, c, d;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (world_components() & 6) != 6)
        return LEVEL_SSE;
    bool has_avx2 = b & (1u << 5), has_avx512bw = b & (1u << 30);
    if (has_avx512bw && (world_components() & 0xe0) == 0xe0)
        return LEVEL_AVX512;
    return has_avx2 ? LEVEL_AVX : LEVEL_SSE;
}

u64 world_components(void)
{
    static u64 known; /* cpuid is slow on a virtual machine */
    u32 a, b, c, d;
    if (known)
        return known;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27)))
        return known = 3;
    __asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    return known = (u64)d << 32 | a;
}

/* -- xsave areas ------------------------------------------------------------------------------ */

static struct component {
    u32 size, offset;
    bool aligned; /* in the compacted form */
} components[COMPONENTS];

static void learn_components(void)
{
    for (u32 i = 2; i < COMPONENTS; i++) {
        u32 b, c, d;
        __cpuid_count(0xd, i, components[i].size, b, c, d);
        components[i].offset = b;
        components[i].aligned = c & 2;
        (void)d;
    }
}

/* What the processor took for unused has its first values; what is stored there means nothing. */
static void forget_unused(u8 *area)
{
    u64 used, form;
    memcpy(&used, area + XSTATE_BV, 8);
    memcpy(&form, area + XCOMP_BV, 8);
    if (!(used & 1)) {
        const u16 fcw = FCW_MASKED;
        memset(area, 0, 24);
        memset(area + 32, 0, 128);
        memcpy(area, &fcw, 2);
    }
    if (!(used & 2))
        memset(area + 160, 0, 256);
    u32 next = XSAVE_HEAD;
    for (u32 i = 2; i < COMPONENTS; i++) {
        u32 offset = components[i].offset;
        if (form >> 63) {
            if (!(form >> i & 1))
                continue;
            offset = components[i].aligned ? (u32)ALIGN_UP(next, 64) : next;
            next = offset + components[i].size;
        }
        if (!(used >> i & 1) && offset + components[i].size <= XSAVE_ROOM)
            memset(area + offset, 0, components[i].size);
    }
    memset(area + XSTATE_BV, 0, 8);
}

/* -- Setting ---------------------------------------------------------------------------------- */

void world_map(void)
{
    struct rng r = {2};
    map_at(LOW_AT, 4 * PAGE);
    map_at(CONST_AT, PAGE);
    map_at(HIGH_AT, PAGE);
    map_at(LOW_AT + FS_AWAY, 2 * PAGE);
    map_at(LOW_AT + GS_AWAY, 2 * PAGE);
    map_at(HIGH_AT + FS_AWAY, PAGE);
    map_at(HIGH_AT + GS_AWAY, PAGE);
    map_at(IN_AT, PAGE);
    map_at(OUT_AT, PAGE);
    map_at(HOST_AT, PAGE);
    *(u32 *)at(HOST_AT + H_LEVEL) = world_level();
    fill(&r, image, sizeof image);
    fill_save_areas();
    fill_constants();
    learn_components();
}

static u64 some_register(struct rng *r)
{
    u64 x = rng_next(r);
    switch (x & 3) {
    case 0:
        return (u64)(s64)rng_between(r, -300, 300);
    case 1:
        return x >> rng_below(r, 60);
    default:
        return x;
    }
}

static void set_fx(struct rng *r, u8 *fx)
{
    memset(fx, 0, 512);
    const u16 fcw = (u16)(0x7f | (rng_below(r, 16) << 8));
    const u16 fsw = (u16)(rng_next(r) & 0x7f7f & ~0x80);
    const u32 mxcsr = MXCSR_MASKED | (rng_below(r, 65536) & 0xe03f);
    memcpy(fx, &fcw, 2);
    memcpy(fx + 2, &fsw, 2);
    fx[4] = (u8)rng_next(r);
    memcpy(fx + 24, &mxcsr, 4);
    for (u32 i = 0; i < 8; i++) {
        u64 x = rng_next(r);
        u16 sign_and_exponent = (u16)(0x3fff + rng_between(r, -8, 8));
        memcpy(fx + 32 + 16 * i, &x, 8);
        fx[39 + 16 * i] |= 0x80; /* the integer bit */
        if (x & 1)
            sign_and_exponent |= 0x8000;
        if (x & 2)
            sign_and_exponent = 0xffff; /* as MMX leaves it */
        memcpy(fx + 40 + 16 * i, &sign_and_exponent, 2);
    }
}

static void set_registers(const struct start *s, u32 round)
{
    struct rng r = {s->seed + round};
    struct state *in = IN;
    for (u32 i = 0; i < 16; i++) {
        u64 other = some_register(&r), pointer = some_pointer(&r, s->high >> i & 1);
        s32 small = rng_between(&r, -32, 31);
        bool points = (s->low | s->high) >> i & 1;
        in->gpr[i] = points ? pointer : s->small >> i & 1 ? (u64)(s64)small : other;
    }
    in->gpr[4] = STACK_AT + PAGE / 2 + 8 * (u64)rng_below(&r, 8);
    in->flags = (rng_next(&r) & FLAGS_MAKE) | FLAGS_ON;
    in->fs = FS_AWAY;
    in->gs = GS_AWAY;
    for (u32 i = 0; i < 8; i++)
        in->k[i] = rng_next(&r);
    fill(&r, in->vector, sizeof in->vector);
    set_fx(&r, in->fx);
    for (u32 i = 0; i < 16; i++)
        memcpy(in->fx + 160 + 16 * i, in->vector[i], 16);
}

void world_prepare(const struct start *s, u32 round)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!parts[i].uses || (parts[i].uses & s->uses))
            memcpy(at(parts[i].at), image + parts[i].image, parts[i].size);
    set_registers(s, round);
    memset(OUT, 0, sizeof *OUT);
}

/* -- Running ---------------------------------------------------------------------------------- */

static volatile u64 running; /* the number of the run, 0 between two */

bool world_run(u64 address)
{
    static u64 runs;
    IN->target = address;
    running = ++runs;
    bool faulted = state_enter();
    running = 0;
    return !faulted;
}

/* fs and gs are the sequence's here: nothing below may use thread-local storage. */
__attribute__((no_stack_protector)) static void on_signal(int sig, siginfo_t *info, void *context)
{
    static u64 last;
    static u32 ticks;
    ucontext_t *c = context;
    (void)info;
    if (sig == SIGALRM) {
        ticks = running == last ? ticks + 1 : 0;
        last = running;
        if (!running || ticks < 3)
            return;
    }
    if (!running) { /* our own fault: have it again, without a handler */
        signal(sig, SIG_DFL);
        return;
    }
    running = 0;
    c->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)state_abort;
    c->uc_mcontext.gregs[REG_EFL] = FLAGS_ON;
}

void world_catch_faults(void)
{
    static u8 stack[65536];
    static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGALRM, SIGSYS};
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction a = {.sa_sigaction = on_signal,
                          .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigaltstack(&alternative, NULL);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        sigaction(signals[i], &a, NULL);
    struct timeval often = {0, 10000};
    setitimer(ITIMER_REAL, &(struct itimerval){often, often}, NULL);
}

/* -- Looking ---------------------------------------------------------------------------------- */

static void clear(u64 address, u32 from, u32 to)
{
    memset(&seen[9 * PAGE + (address - SAVE_AT) + from], 0, to - from);
}

/* Copy what was left, without what does not count. */
static void look(const struct start *s)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!parts[i].uses || (parts[i].uses & s->uses))
            memcpy(seen + parts[i].image, at(parts[i].at), parts[i].size);
    memset(OUT->fx + 6, 0, 18);
    if (*(const u32 *)at(HOST_AT + H_LEVEL) != LEVEL_SSE)
        memset(OUT->fx + 160, 0, 256); /* they are in `vector` */
    if (!(s->uses & USES_SAVE))
        return;
    forget_unused(seen + 9 * PAGE + (XSAVE_AT - SAVE_AT));
    forget_unused(seen + 9 * PAGE + (XSAVEC_AT - SAVE_AT));
    clear(XSAVE_AT, 6, 32); /* mxcsr, too, is stored or not */
    clear(XSAVEC_AT, 6, 32);
    clear(FXSAVE_AT, 6, 24);
    clear(FNSTENV_AT, 12, 28);
    clear(FNSAVE_AT, 12, 28);
    clear(FNSTENVW_AT, 6, 14);
    clear(FNSAVEW_AT, 6, 14);
}

static u64 hash(u64 h, const void *p, size_t size)
{
    const u64 *w = p;
    u64 a = h, b = ~h, c = h << 1, d = h >> 1;
    for (size_t i = 0; i + 4 <= size / 8; i += 4) {
        a = (a ^ w[i]) * 0x9e3779b97f4a7c15;
        b = (b ^ w[i + 1]) * 0xbf58476d1ce4e5b9;
        c = (c ^ w[i + 2]) * 0x94d049bb133111eb;
        d = (d ^ w[i + 3]) * 0xd6e8feb86659fd93;
        a ^= a >> 29, b ^= b >> 31, c ^= c >> 30, d ^= d >> 28;
    }
    h = (a ^ (b << 1 | b >> 63)) * 0x9e3779b97f4a7c15;
    h = (h ^ h >> 32 ^ c) * 0xbf58476d1ce4e5b9;
    return (h ^ h >> 32 ^ d) * 0x94d049bb133111eb;
}

u64 world_hash(const struct start *s)
{
    look(s);
    u64 h = hash(1, OUT, sizeof *OUT);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!parts[i].uses || (parts[i].uses & s->uses))
            h = hash(h, seen + parts[i].image, parts[i].size);
    return h;
}

static void dump_bytes(FILE *to, const u8 *p, u32 n)
{
    for (u32 i = n; i-- > 0;)
        fprintf(to, "%02x", p[i]);
    fputc('\n', to);
}

static void dump_memory(FILE *to, const struct part *p)
{
    for (u32 i = 0; i < p->size; i += 8) {
        if (!memcmp(image + p->image + i, seen + p->image + i, 8))
            continue;
        fprintf(to, "%s %llx: ", p->name, (unsigned long long)(p->at + i));
        dump_bytes(to, seen + p->image + i, 8);
    }
}

void world_dump(const struct start *s, FILE *to)
{
    static const char *const names[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                        "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    const struct state *out = OUT;
    look(s);
    for (u32 i = 0; i < 16; i++)
        fprintf(to, "%s %016llx\n", names[i], (unsigned long long)out->gpr[i]);
    fprintf(to, "flags %llx\nfs %llx\ngs %llx\n", (unsigned long long)out->flags,
            (unsigned long long)out->fs, (unsigned long long)out->gs);
    for (u32 i = 0; i < 8; i++)
        fprintf(to, "k%u %016llx\n", i, (unsigned long long)out->k[i]);
    for (u32 i = 0; i < 32; i++) {
        fprintf(to, "zmm%u ", i);
        dump_bytes(to, out->vector[i], 64);
    }
    for (u32 i = 0; i < 8; i++) {
        fprintf(to, "st%u ", i);
        dump_bytes(to, out->fx + 32 + 16 * i, 10);
    }
    fprintf(to, "fcw, fsw, ftw, mxcsr ");
    dump_bytes(to, out->fx, 32);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!parts[i].uses || (parts[i].uses & s->uses))
            dump_memory(to, &parts[i]);
}
