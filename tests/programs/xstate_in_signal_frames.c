/* SPDX-License-Identifier: MIT */
/* The xsave area of a signal frame: both magics, its sizes, its contents; and what the way back makes of it when a handler
 * takes components away, spoils a magic, removes the pointer, fills a component that was not in use, or nests. */
#include "check.h"
#include "xstate.h"

enum mode { LOOK, DROP_AVX, NO_MAGIC1, NO_MAGIC2, NO_POINTER, FILL_UNUSED, EDIT_X87, NEST, MODES };
static const char *const mode_name[] = {"look",       "drop avx",    "no magic 1", "no magic 2",
                                        "no pointer", "fill unused", "edit x87",   "nest"};

const uint32_t mxcsr_in = 0x9fc0;
uint32_t mxcsr_out;
int x87_out[2];
const uint32_t mxcsr_usual = 0x1f80;

/* Everything loaded, a signal sent by a call or raised by a fault, everything stored. 0: call, 1: fault, 2: unused before. */
void vectors_over_signal(long way, long pid, long tid, long sig);
asm(".globl vectors_over_signal\n"
    "vectors_over_signal:\n"
    "    mov %rdi, %r8\n"
    "    mov %rsi, %rdi\n"
    "    mov %rdx, %rsi\n"
    "    mov %rcx, %rdx\n"
    "    call load_vectors\n"
    "    fninit\n"
    "    fldpi\n"
    "    fld1\n"
    "    ldmxcsr mxcsr_in(%rip)\n"
    "    cmp $2, %r8\n"
    "    jb 1f\n"
    "    cmpl $0, vector_level(%rip)\n"
    "    je 1f\n"
    "    vzeroall\n"
    "1:  cmp $1, %r8\n"
    "    je 2f\n"
    "    mov $234, %eax\n"
    "    syscall\n"
    "    jmp 3f\n"
    "2:  ud2\n"
    "3:  call store_vectors\n"
    "    stmxcsr mxcsr_out(%rip)\n"
    "    fistpl x87_out(%rip)\n"
    "    fistpl 4+x87_out(%rip)\n"
    "    fninit\n"
    "    ldmxcsr mxcsr_usual(%rip)\n"
    "    ret\n");

static enum mode mode;
static volatile int arrived, depth;
static struct vectors in_frame, put_in;

static uint64_t enabled_features(void)
{
    uint32_t low, high;
    asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low | (uint64_t)high << 32;
}

static void check_area(struct _libc_fpstate *fp)
{
    const struct frame_words *words = frame_words(fp);
    unsigned a, size, c, d;
    __cpuid_count(0xd, 0, a, size, c, d);
    CHECK_IS(words->magic1, MAGIC1);
    CHECK_IS(words->xstate_size, size);
    CHECK_IS(words->extended_size, size + 4);
    CHECK_IS(words->features & ~enabled_features(), 0);
    CHECK_IS(words->features & 7, enabled_features() & 7);
    CHECK_IS(*frame_magic2(fp), MAGIC2);
    CHECK_IS(*frame_in_use(fp) & ~words->features, 0);
    CHECK_IS(frame_in_use(fp)[1], 0); /* the standard layout, not the compacted one */
}

static void edit(ucontext_t *uc)
{
    struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;
    switch (mode) {
    case DROP_AVX:
        *frame_in_use(fp) &= X87 | SSE;
        break;
    case NO_MAGIC1:
        frame_words(fp)->magic1 ^= 1;
        break;
    case NO_MAGIC2:
        *frame_magic2(fp) ^= 1;
        break;
    case NO_POINTER:
        uc->uc_mcontext.fpregs = NULL;
        break;
    case FILL_UNUSED:
        fill_vectors(&put_in, 50);
        vectors_to_frame(fp, &put_in);
        *frame_in_use(fp) =
            frame_words(fp)->features & (X87 | SSE | AVX | OPMASK | ZMM_HIGH | ZMM_MORE);
        fp->mxcsr = mxcsr_in;
        break;
    case EDIT_X87:
        /* 1.0 and pi become 2.0 and 8.0: only the exponents change. */
        fp->_st[0].exponent = 0x4000;
        memcpy(&fp->_st[1], &(long double){8}, 10);
        fp->mxcsr = 0x5f80;
        break;
    default:
        break;
    }
}

static void on_signal(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    struct _libc_fpstate *fp = uc->uc_mcontext.fpregs;
    (void)info;
    arrived++;
    check_area(fp);
    if (depth == 0 && mode != FILL_UNUSED) {
        frame_to_vectors(fp, &in_frame);
        compare_vectors(&in_frame, &vectors_in, "frame");
        CHECK_IS(fp->mxcsr, mxcsr_in);
        CHECK_IS(fp->_st[0].exponent, 0x3fff);
    }
    if (sig == SIGILL)
        uc->uc_mcontext.gregs[REG_RIP] += 2;
    edit(uc);
    if (mode == NEST && depth < 5) {
        struct vectors outer = vectors_in;
        depth++;
        fill_vectors(&vectors_in, 10 + depth);
        vectors_over_signal(0, getpid(), gettid(), SIGUSR1);
        compare_vectors(&vectors_out, &vectors_in, "nested");
        vectors_in = outer;
        depth--;
    }
    if (depth == 0) { /* what a handler leaves in the registers is nobody's business */
        struct vectors keep = vectors_in;
        fill_vectors(&vectors_in, 99);
        load_vectors();
        vectors_in = keep;
    }
}

/* What the registers must be after the handler's edit. */
static void expect(struct vectors *wanted)
{
    *wanted = vectors_in;
    bool upper_lost =
        mode == DROP_AVX || mode == NO_MAGIC1 || mode == NO_MAGIC2 || mode == NO_POINTER;
    for (int n = 0; n < 32 && upper_lost; n++) {
        int keep = mode == NO_POINTER || n >= 16 ? 0 : 2;
        memset(&wanted->zmm[n][keep], 0, 8 * (8 - keep));
    }
    if (upper_lost)
        memset(wanted->mask, 0, sizeof wanted->mask);
    if (mode == FILL_UNUSED)
        *wanted = put_in;
}

int main(void)
{
    struct vectors wanted;
    unsigned a, b, c, d;
    watchdog(WATCHDOG_SECONDS);
    __cpuid(1, a, b, c, d);
    if (!(c & bit_OSXSAVE))
        return skip("no xsave on this processor");
    learn_xstate();
    handle(SIGUSR1, on_signal, SA_NODEFER);
    handle(SIGILL, on_signal, 0);
    for (int round = 0; round < 4 * MODES; round++) {
        mode = round % MODES;
        fill_vectors(&vectors_in, round);
        vectors_over_signal(mode == FILL_UNUSED ? 2 : round / MODES % 2, getpid(), gettid(),
                            SIGUSR1);
        expect(&wanted);
        compare_vectors(&vectors_out, &wanted, mode_name[mode]);
        if (mode == EDIT_X87) {
            CHECK_IS(x87_out[0], 2);
            CHECK_IS(x87_out[1], 8);
            CHECK_IS(mxcsr_out, 0x5f80);
        } else if (mode != NO_POINTER) {
            CHECK_IS(x87_out[0], 1);
            CHECK_IS(x87_out[1], 3);
            CHECK_IS(mxcsr_out, mxcsr_in);
        } else {
            CHECK_IS(mxcsr_out, 0x1f80);
        }
    }
    say("%d signals\n", arrived);
    return verdict();
}
