/* SPDX-License-Identifier: MIT */
/* Asks the processor whether accesses.c is right: each memory operand, against page faults. */

/*
 * For every encoding with a memory operand [rbx] that Zydis knows, accesses.c predicts which bytes
 * are touched. The instruction is then run with the operand placed so that
 *
 *      | no access |  two pages  | no access |
 *                       [first..last)            all inside                  must not fault
 *                           [first..last)        the last byte is outside    must fault
 *            [first..last)                       the first byte is outside   must fault
 *
 * and once where nothing can be written. Masked instructions are run with a number of masks. So
 * sizes, left-out elements and stores are measured and not believed. It cannot tell a modify from a
 * store, says nothing about other forms of address, and passes over what the processor lacks and
 * what branches, saves areas, loads segments or uses implied memory; tests/insn has those.
 *
 * 1.5 million runs take three seconds. Build: cc -no-pie -o probe probe.c accesses.c -lZydis
 */
#define _GNU_SOURCE
#include "accesses.h"

#include <Zydis/Zydis.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, MXCSR = 0x1f80 };
enum verdict { RAN, PAGE_FAULT, OTHER_FAULT, NO_SUCH_INSN };

static uint8_t *pages_begin, *pages_end;
static sigjmp_buf escape;
static ZydisDecoder decoder;
static unsigned n_encodings, n_runs, n_complaints;

/* What the stub loads and saves; it is assembly, and finds them by name. */
uint8_t *probe_code;
uint64_t probe_ea, probe_k1, probe_sp, probe_bp;
const uint32_t probe_mxcsr = MXCSR;
const uint32_t probe_signs[16] = {0, 1u << 31, 1u << 31, 0, 1u << 31};

static const uint64_t masks[] = {0,        1,          2,    8,      0x80, 0x8000,
                                 1u << 31, 1ull << 63, 0x24, 0x8005, ~0ull};

/* Events by definition, not by what the processor does; docs/events.md says so. */
static const struct {
    const char *mnemonic, *why;
} excused[] = {
    {"clflush", "checks the address, and is defined to touch nothing"},
    {"clflushopt", "the same"},
    {"clwb", "the same"},
    {"vbroadcastf32x2", "a masked broadcast of several elements is one access of them all"},
    {"vbroadcastf32x4", "the same"},
    {"vbroadcastf32x8", "the same"},
    {"vbroadcastf64x2", "the same"},
    {"vbroadcastf64x4", "the same"},
    {"vbroadcasti32x2", "the same"},
    {"vbroadcasti32x4", "the same"},
    {"vbroadcasti32x8", "the same"},
    {"vbroadcasti64x2", "the same"},
    {"vbroadcasti64x4", "the same"},
};

/* -- Running one instruction ------------------------------------------------------------------- */

static void on_signal(int sig, siginfo_t *info, void *context)
{
    enum verdict v = OTHER_FAULT;

    (void)context;
    if (sig == SIGILL)
        v = NO_SUCH_INSN;
    else if (sig == SIGFPE)
        v = RAN; /* the operand was read, and the arithmetic failed */
    else if (sig == SIGSEGV && info->si_code != SI_KERNEL)
        v = PAGE_FAULT; /* and not a misaligned vector */
    siglongjmp(escape, 1 + v);
}

/* The code jumps back through r14, because it may have changed any other register. */
__attribute__((noinline)) static void call_code(void)
{
    __asm__ volatile(
        "mov %%rsp, probe_sp\n\t mov %%rbp, probe_bp\n\t fninit\n\t ldmxcsr probe_mxcsr\n\t"
        "kmovq probe_k1, %%k1\n\t vpxord %%zmm1, %%zmm1, %%zmm1\n\t vmovdqu64 probe_signs, "
        "%%zmm0\n\t"
        "mov probe_ea, %%rbx\n\t xor %%eax, %%eax\n\t xor %%ecx, %%ecx\n\t xor %%edx, %%edx\n\t"
        "xor %%esi, %%esi\n\t xor %%edi, %%edi\n\t xor %%ebp, %%ebp\n\t"
        "lea 1f(%%rip), %%r14\n\t jmp *probe_code\n\t"
        "1: mov probe_sp, %%rsp\n\t mov probe_bp, %%rbp\n\t cld\n\t"
        :
        :
        : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
          "r15", "memory", "cc");
}

static enum verdict run(uint8_t *ea, uint64_t k1)
{
    int v;

    n_runs++;
    memset(pages_begin, 0, pages_end - pages_begin);
    probe_ea = (uint64_t)ea;
    probe_k1 = k1;
    v = sigsetjmp(escape, 1);
    if (v == 0) {
        call_code();
        v = 1 + RAN;
    }
    __asm__ volatile("fninit\n\t ldmxcsr probe_mxcsr" ::: "memory");
    return v - 1;
}

/* Run with the operand moved by one byte, or by a vector if it must be aligned. */
static enum verdict run_moved(uint8_t *ea, int direction, uint64_t k1)
{
    enum verdict v = run(ea + direction, k1);

    return v == OTHER_FAULT ? run(ea + 64 * direction, k1) : v;
}

static enum verdict run_read_only(uint64_t k1)
{
    enum verdict v;

    n_runs++;
    mprotect(pages_begin, 2 * PAGE, PROT_READ);
    probe_ea = (uint64_t)pages_begin + 256;
    probe_k1 = k1;
    v = sigsetjmp(escape, 1);
    if (v == 0)
        call_code();
    v = v ? v - 1 : RAN;
    mprotect(pages_begin, 2 * PAGE, PROT_READ | PROT_WRITE);
    return v;
}

/* -- Predicting -------------------------------------------------------------------------------- */

struct span {
    int64_t first, last; /* offsets from the operand's address; last is exclusive */
    bool is_touched, is_written;
};

static struct span predict(const struct insn *in, uint64_t k1)
{
    static struct machine m __attribute__((aligned(64)));
    static uint8_t area[4096] __attribute__((aligned(64)));
    struct access a[ACCESSES_MAX];
    struct span s = {0};
    unsigned n;

    memset(&m.regs, 0, sizeof m.regs);
    m.regs.rbx = 1 << 20;
    __asm__ volatile("vmovdqu64 probe_signs, %%zmm0\n\t vpxord %%zmm1, %%zmm1, %%zmm1\n\t"
                     "kmovq %1, %%k1\n\t xsave64 %0"
                     : "=m"(area)
                     : "r"(k1), "a"(0xe7), "d"(0)
                     : "memory");
    memcpy(m.xstate, area, sizeof area);
    m.has_xstate = true;
    n = insn_accesses(in, &m, a);
    for (unsigned i = 0; i < n; i++) {
        int64_t at = a[i].addr - m.regs.rbx;

        s.first = i == 0 || at < s.first ? at : s.first;
        s.last = i == 0 || at + a[i].size > s.last ? at + a[i].size : s.last;
        s.is_written |= a[i].kind != 'L';
    }
    s.is_touched = n > 0;
    return s;
}

/* -- Comparing --------------------------------------------------------------------------------- */

static void complain(const struct insn *in, const char *text, uint64_t k1, const char *what)
{
    for (unsigned i = 0; i < sizeof excused / sizeof *excused; i++)
        if (!strncmp(text, excused[i].mnemonic, strcspn(text, " ")))
            return;
    n_complaints++;
    printf("%s with k1 = %lx %s:", text, (long)k1, what);
    for (unsigned i = 0; i < in->length; i++)
        printf(" %02x", in->bytes[i]);
    putchar('\n');
}

/* Compare one prediction with the processor; false if the processor cannot run it at all. */
static bool compare(const struct insn *in, const char *text, uint64_t k1)
{
    struct span s = predict(in, k1);
    uint8_t *inside = s.is_touched ? pages_end - s.last : pages_end + 256;
    enum verdict v = run(inside, k1);

    if (v == NO_SUCH_INSN || v == OTHER_FAULT)
        return false;
    if (v != RAN)
        complain(in, text, k1, "touches more");
    if (v != RAN || !s.is_touched)
        return true;
    if (run_moved(inside, 1, k1) != PAGE_FAULT)
        complain(in, text, k1, "does not touch the last byte");
    if (run_moved(pages_begin - s.first, -1, k1) != PAGE_FAULT)
        complain(in, text, k1, "does not touch the first byte");
    v = run(pages_begin - s.first, k1);
    if (v != RAN && v != OTHER_FAULT)
        complain(in, text, k1, "touches bytes before the first");
    v = run_read_only(k1);
    if (v != OTHER_FAULT && (v == PAGE_FAULT) != s.is_written)
        complain(in, text, k1, s.is_written ? "does not write" : "writes");
    return true;
}

/* Whether an instruction is one that can be tried here. */
static bool can_try(const struct insn *in, const ZydisDecodedInstruction *i,
                    const ZydisDecodedOperand *op)
{
    bool has_memory = false;

    for (unsigned n = 0; n < i->operand_count; n++) {
        if (op[n].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetClass(op[n].reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return false;
        if (op[n].type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (op[n].visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
            op[n].mem.base != ZYDIS_REGISTER_RBX)
            return false;
        has_memory = true;
    }
    switch (in->shape) {
    case VECTOR:
    case SAVE_AREA:
    case SAVE_PACKED:
    case LOAD_AREA:
        return false;
    case BIT_STRING: /* rsp and rbx are no small bit numbers */
        if (ZydisRegisterGetId(op[1].reg.value) == 3 || ZydisRegisterGetId(op[1].reg.value) == 4)
            return false;
        break;
    default:
        break;
    }
    return has_memory && !in->is_unsteppable && i->meta.branch_type == ZYDIS_BRANCH_TYPE_NONE;
}

static void try(const uint8_t *bytes)
{
    static const uint8_t jump_back[] = {0x41, 0xff, 0xe6}; /* jmp *%r14 */
    ZydisDecodedInstruction i;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    ZydisFormatter formatter;
    struct insn in;
    char text[128];
    bool is_masked;

    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, INSN_BYTES, &i, op)) ||
        insn_decode(&in, 0, bytes, INSN_BYTES) || !can_try(&in, &i, op))
        return;
    ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_INTEL);
    ZydisFormatterFormatInstruction(&formatter, &i, op, i.operand_count_visible, text, sizeof text,
                                    0, NULL);
    memcpy(probe_code, bytes, i.length);
    memcpy(probe_code + i.length, jump_back, sizeof jump_back);
    n_encodings++;
    is_masked = i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
                i.avx.mask.reg > ZYDIS_REGISTER_K0 && i.avx.mask.reg <= ZYDIS_REGISTER_K7;
    for (unsigned m = 0; m < (is_masked ? sizeof masks / sizeof *masks : 1); m++)
        if (!compare(&in, text, masks[m]))
            return;
}

/* -- Every encoding ---------------------------------------------------------------------------- */

static void try_legacy(unsigned prefix, unsigned rex, unsigned map)
{
    static const uint8_t prefixes[] = {0, 0x66, 0xf2, 0xf3};

    for (unsigned n = 0; n < 256 * 8; n++) {
        uint8_t bytes[INSN_BYTES] = {0}, *p = bytes;

        if (prefixes[prefix])
            *p++ = prefixes[prefix];
        if (rex)
            *p++ = 0x48;
        if (map)
            *p++ = 0x0f;
        if (map > 1)
            *p++ = map == 2 ? 0x38 : 0x3a;
        *p++ = n / 8;
        *p++ = (n % 8) << 3 | 3;
        try(bytes);
    }
}

static void try_vex(unsigned map, unsigned pp, unsigned w, unsigned l)
{
    for (unsigned n = 0; n < 256 * 8; n++)
        try((uint8_t[INSN_BYTES]){0xc4, 0xe0 | map, w << 7 | 0x78 | l << 2 | pp, n / 8,
                                  (n % 8) << 3 | 3});
}

/* Without and with k1, zeroing, broadcast. */
static void try_evex(unsigned map, unsigned pp, unsigned w, unsigned l)
{
    for (unsigned n = 0; n < 256 * 8 * 8; n++) {
        unsigned k = n & 1, z = n >> 1 & 1, b = n >> 2 & 1, reg = n >> 3 & 7, opcode = n >> 6;

        try((uint8_t[INSN_BYTES]){0x62, 0xf0 | map, w << 7 | 0x7c | pp,
                                  z << 7 | l << 5 | b << 4 | 8 | k, opcode, reg << 3 | 3});
    }
}

static void prepare(void)
{
    static const int signals[] = {SIGSEGV, SIGILL, SIGFPE, SIGBUS, SIGTRAP};
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    uint8_t *all = mmap(NULL, 4 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    pages_begin = all + PAGE;
    pages_end = all + 3 * PAGE;
    mprotect(pages_begin, 2 * PAGE, PROT_READ | PROT_WRITE);
    probe_code =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    sigaltstack(&stack, NULL);
    for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaction(signals[i], &action, NULL);
    accesses_init();
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE); /* Linux has no MPX: nops */
    ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE);
}

int main(void)
{
    if (!__builtin_cpu_supports("avx512bw")) {
        puts("probe: this processor has no AVX-512, which the stub uses");
        return 0;
    }
    prepare();
    for (unsigned n = 0; n < 4 * 2 * 4; n++)
        try_legacy(n & 3, n >> 2 & 1, n >> 3);
    for (unsigned map = 1; map <= 3; map++)
        for (unsigned n = 0; n < 4 * 2 * 2; n++)
            try_vex(map, n & 3, n >> 2 & 1, n >> 3);
    for (unsigned map = 1; map <= 3; map++)
        for (unsigned n = 0; n < 4 * 2 * 3; n++)
            try_evex(map, n & 3, n >> 2 & 1, n >> 3);
    printf("%u encodings, %u runs, %u complaints\n", n_encodings, n_runs, n_complaints);
    return n_complaints > 0;
}
