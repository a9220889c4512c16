/* SPDX-License-Identifier: MIT */
/* Where vector registers are in a signal frame, and loading and storing all of them at once.
 *
 * The frame holds an xsave area in the standard layout, whose offsets the processor tells; behind it stands a second magic. */
#ifndef XSTATE_H
#define XSTATE_H
#include <cpuid.h>

enum { X87 = 1, SSE = 2, AVX = 4, OPMASK = 0x20, ZMM_HIGH = 0x40, ZMM_MORE = 0x80 };
enum { AVX_AT = 576, HEADER_AT = 512, SOFTWARE_AT = 464 };
enum { MAGIC1 = 0x46505853, MAGIC2 = 0x46505845 };

/* The kernel's own words in the unused end of the legacy area. */
struct frame_words {
    uint32_t magic1, extended_size;
    uint64_t features;
    uint32_t xstate_size;
};

/* All vector registers: the 32 of 64 bytes, then the eight masks. */
struct vectors {
    uint64_t zmm[32][8];
    uint64_t mask[8];
};

/* 0: xmm0-15, 1: ymm0-15, 2: zmm0-31 and the masks. */
int vector_level;
static unsigned opmask_at, zmm_high_at, zmm_more_at;

static inline void learn_xstate(void)
{
    unsigned a, b, c, d;
    vector_level = __builtin_cpu_supports("avx512bw") ? 2 : __builtin_cpu_supports("avx") ? 1 : 0;
    if (vector_level == 2) {
        __cpuid_count(0xd, 5, a, opmask_at, c, d);
        __cpuid_count(0xd, 6, a, zmm_high_at, c, d);
        __cpuid_count(0xd, 7, a, b, c, d);
        zmm_more_at = b;
    }
}

/* How many vector registers there are and how many 8-byte words of each. */
static inline int vector_count(void)
{
    return vector_level == 2 ? 32 : 16;
}

static inline int vector_words(void)
{
    return 2 << vector_level;
}

/* Word w of vector register n in a frame's xsave area. */
static inline uint64_t *frame_word(void *fpstate, int n, int w)
{
    char *at = fpstate;
    if (n >= 16)
        return (uint64_t *)(at + zmm_more_at + 64 * (n - 16) + 8 * w);
    if (w >= 4)
        return (uint64_t *)(at + zmm_high_at + 32 * n + 8 * (w - 4));
    if (w >= 2)
        return (uint64_t *)(at + AVX_AT + 16 * n + 8 * (w - 2));
    return (uint64_t *)(at + offsetof(struct _libc_fpstate, _xmm) + 16 * n + 8 * w);
}

static inline uint64_t *frame_mask(void *fpstate, int n)
{
    return (uint64_t *)((char *)fpstate + opmask_at + 8 * n);
}

static inline uint64_t *frame_in_use(void *fpstate)
{
    return (uint64_t *)((char *)fpstate + HEADER_AT);
}

static inline struct frame_words *frame_words(void *fpstate)
{
    return (struct frame_words *)((char *)fpstate + SOFTWARE_AT);
}

static inline uint32_t *frame_magic2(void *fpstate)
{
    return (uint32_t *)((char *)fpstate + frame_words(fpstate)->xstate_size);
}

/* Load all registers from vectors_in, store all to vectors_out; only flags and rax are changed. */
struct vectors vectors_in, vectors_out;
void load_vectors(void);
void store_vectors(void);
asm(".globl load_vectors, store_vectors\n"
    "load_vectors:\n"
    "    lea vectors_in(%rip), %rax\n"
    "    cmpl $1, vector_level(%rip)\n"
    "    je 1f\n"
    "    ja 2f\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "    movdqu 64*\\n(%rax), %xmm\\n\n"
    ".endr\n"
    "    ret\n"
    "1:\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "    vmovdqu 64*\\n(%rax), %ymm\\n\n"
    ".endr\n"
    "    ret\n"
    "2:\n"
    ".irp n, "
    "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    "    vmovdqu64 64*\\n(%rax), %zmm\\n\n"
    ".endr\n"
    ".irp n, 0,1,2,3,4,5,6,7\n"
    "    kmovq 2048+8*\\n(%rax), %k\\n\n"
    ".endr\n"
    "    ret\n"
    "store_vectors:\n"
    "    lea vectors_out(%rip), %rax\n"
    "    cmpl $1, vector_level(%rip)\n"
    "    je 1f\n"
    "    ja 2f\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "    movdqu %xmm\\n, 64*\\n(%rax)\n"
    ".endr\n"
    "    ret\n"
    "1:\n"
    ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15\n"
    "    vmovdqu %ymm\\n, 64*\\n(%rax)\n"
    ".endr\n"
    "    ret\n"
    "2:\n"
    ".irp n, "
    "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
    "    vmovdqu64 %zmm\\n, 64*\\n(%rax)\n"
    ".endr\n"
    ".irp n, 0,1,2,3,4,5,6,7\n"
    "    kmovq %k\\n, 2048+8*\\n(%rax)\n"
    ".endr\n"
    "    ret\n");

/* A value of its own for every word of every register; `salt` tells whole sets apart. */
static inline uint64_t vector_value(int salt, int n, int w)
{
    return 0x0101010101010101ull * (unsigned)(salt + 1) + ((uint64_t)(n + 1) << 32) + (unsigned)w;
}

static inline void fill_vectors(struct vectors *v, int salt)
{
    for (int n = 0; n < 32; n++)
        for (int w = 0; w < 8; w++)
            v->zmm[n][w] = vector_value(salt, n, w);
    for (int n = 0; n < 8; n++)
        v->mask[n] = vector_value(salt, 64 + n, 0);
}

/* Compare what this processor has of two sets; where names the moment. */
static inline void compare_vectors(const struct vectors *is, const struct vectors *wanted,
                                   const char *where)
{
    for (int n = 0; n < vector_count(); n++)
        for (int w = 0; w < vector_words(); w++)
            if (is->zmm[n][w] != wanted->zmm[n][w])
                fail("%s: vector register %d word %d is 0x%lx, not 0x%lx\n", where, n, w,
                     (long)is->zmm[n][w], (long)wanted->zmm[n][w]);
    for (int n = 0; n < 8 && vector_level == 2; n++)
        if (is->mask[n] != wanted->mask[n])
            fail("%s: mask register %d is 0x%lx, not 0x%lx\n", where, n, (long)is->mask[n],
                 (long)wanted->mask[n]);
}

/* Copy the registers out of a frame, or into it. */
static inline void frame_to_vectors(void *fpstate, struct vectors *v)
{
    for (int n = 0; n < vector_count(); n++)
        for (int w = 0; w < vector_words(); w++)
            v->zmm[n][w] = *frame_word(fpstate, n, w);
    for (int n = 0; n < 8 && vector_level == 2; n++)
        v->mask[n] = *frame_mask(fpstate, n);
}

static inline void vectors_to_frame(void *fpstate, const struct vectors *v)
{
    for (int n = 0; n < vector_count(); n++)
        for (int w = 0; w < vector_words(); w++)
            *frame_word(fpstate, n, w) = v->zmm[n][w];
    for (int n = 0; n < 8 && vector_level == 2; n++)
        *frame_mask(fpstate, n) = v->mask[n];
}

#endif
