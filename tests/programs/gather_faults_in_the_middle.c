/* SPDX-License-Identifier: MIT */
/* Gathers and scatters that fault on a middle lane keep what was done: the mask says which lanes are left, the rest
 * happens when the instruction is resumed. Lanes and bytes that are masked out never fault, in any instruction with a
 * mask. */
#include "check.h"
#include <immintrin.h>

enum { LANES = 16 };

static char *pages; /* readable, closed, readable */
static volatile int arrived;
static volatile bool mends;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *address = info->si_addr;
    (void)sig;
    arrived++;
    CHECK(is_own_text(reg[REG_RIP]));
    CHECK_IS(info->si_code, SEGV_ACCERR);
    CHECK(address >= pages + PAGE && address < pages + 2 * PAGE);
    if (!mends)
        _exit(1);
    mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void close_middle(void)
{
    must(!mprotect(pages + PAGE, PAGE, PROT_NONE), "close the page");
}

/* Index of lane i: only lane `middle` is in the closed page. */
static void indexes(int32_t *index, int middle)
{
    for (int i = 0; i < LANES; i++)
        index[i] = i == middle ? PAGE / 4 + i : i % 2 ? 2 * PAGE / 4 + i : i;
}

static void fill(void)
{
    mprotect(pages, 3 * PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < 3 * PAGE / 4; i++)
        ((int32_t *)pages)[i] = 1000000 + i;
}

__attribute__((target("avx2"))) static void gather_avx2(int middle)
{
    int32_t index[LANES], got[8], mask[8];
    indexes(index, middle);
    fill();
    close_middle();
    int before = arrived;
    __m256i result = _mm256_set1_epi32(-1), all = _mm256_set1_epi32(-1);
    __m256i at = _mm256_loadu_si256((void *)index);
    asm volatile("vpgatherdd %1, (%3,%2,4), %0"
                 : "+&x"(result), "+&x"(all)
                 : "x"(at), "r"(pages)
                 : "memory");
    _mm256_storeu_si256((void *)got, result);
    _mm256_storeu_si256((void *)mask, all);
    CHECK_IS(arrived, before + (middle < 8));
    for (int i = 0; i < 8; i++) {
        CHECK_IS(got[i], 1000000 + index[i]);
        CHECK_IS(mask[i], 0);
    }
    /* The lane masked out: no fault, and its old value stays. */
    close_middle();
    before = arrived;
    for (int i = 0; i < 8; i++)
        mask[i] = i == middle ? 0 : -1;
    result = _mm256_set1_epi32(-7);
    all = _mm256_loadu_si256((void *)mask);
    asm volatile("vpgatherdd %1, (%3,%2,4), %0"
                 : "+&x"(result), "+&x"(all)
                 : "x"(at), "r"(pages)
                 : "memory");
    _mm256_storeu_si256((void *)got, result);
    CHECK_IS(arrived, before);
    for (int i = 0; i < 8; i++)
        CHECK_IS(got[i], i == middle ? -7 : 1000000 + index[i]);
}

__attribute__((target("avx512f"))) static void gather_avx512(int middle)
{
    int32_t index[LANES], got[LANES];
    indexes(index, middle);
    fill();
    close_middle();
    int before = arrived;
    __m512i result = _mm512_set1_epi32(-1), at = _mm512_loadu_si512(index);
    __mmask16 all = 0xffff;
    asm volatile("vpgatherdd (%3,%2,4), %0%{%1%}"
                 : "+&v"(result), "+&Yk"(all)
                 : "v"(at), "r"(pages)
                 : "memory");
    _mm512_storeu_si512(got, result);
    CHECK_IS(arrived, before + 1);
    CHECK_IS(all, 0);
    for (int i = 0; i < LANES; i++)
        CHECK_IS(got[i], 1000000 + index[i]);
    close_middle();
    before = arrived;
    all = (__mmask16) ~(1u << middle);
    result = _mm512_set1_epi32(-7);
    asm volatile("vpgatherdd (%3,%2,4), %0%{%1%}"
                 : "+&v"(result), "+&Yk"(all)
                 : "v"(at), "r"(pages)
                 : "memory");
    _mm512_storeu_si512(got, result);
    CHECK_IS(arrived, before);
    for (int i = 0; i < LANES; i++)
        CHECK_IS(got[i], i == middle ? -7 : 1000000 + index[i]);
}

__attribute__((target("avx512f"))) static void scatter_avx512(int middle)
{
    int32_t index[LANES], put[LANES];
    indexes(index, middle);
    fill();
    close_middle();
    int before = arrived;
    for (int i = 0; i < LANES; i++)
        put[i] = i + 5;
    __m512i value = _mm512_loadu_si512(put), at = _mm512_loadu_si512(index);
    __mmask16 all = 0xffff;
    asm volatile("vpscatterdd %1, (%3,%2,4)%{%0%}"
                 : "+&Yk"(all)
                 : "v"(value), "v"(at), "r"(pages)
                 : "memory");
    CHECK_IS(arrived, before + 1);
    CHECK_IS(all, 0);
    for (int i = 0; i < LANES; i++)
        CHECK_IS(((int32_t *)pages)[index[i]], i + 5);
    /* Two lanes to one address: the last one stays. */
    for (int i = 0; i < LANES; i++)
        index[i] = 17;
    at = _mm512_loadu_si512(index);
    all = 0xffff;
    asm volatile("vpscatterdd %1, (%3,%2,4)%{%0%}"
                 : "+&Yk"(all)
                 : "v"(value), "v"(at), "r"(pages)
                 : "memory");
    CHECK_IS(((int32_t *)pages)[17], LANES - 1 + 5);
}

/* Masked moves whose open lanes end right before the closed page. */
__attribute__((target("avx2"))) static void masked_avx2(int open)
{
    int32_t mask[8], got[8];
    char *at = pages + PAGE - 4 * open;
    fill();
    close_middle();
    int before = arrived;
    for (int i = 0; i < 8; i++)
        mask[i] = i < open ? -1 : 0;
    __m256i m = _mm256_loadu_si256((void *)mask);
    _mm256_storeu_si256((void *)got, _mm256_maskload_epi32((void *)at, m));
    for (int i = 0; i < 8; i++)
        CHECK_IS(got[i], i < open ? 1000000 + PAGE / 4 - open + i : 0);
    _mm256_maskstore_epi32((void *)at, m, _mm256_set1_epi32(3));
    for (int i = 0; i < open; i++)
        CHECK_IS(((int32_t *)at)[i], 3);
    CHECK_IS(arrived, before);
}

__attribute__((target("avx512f,avx512bw"))) static void masked_avx512(int open)
{
    char got[64], *at = pages + PAGE - open;
    __mmask64 mask = open == 64 ? ~0ull : (1ull << open) - 1;
    fill();
    memset(pages + PAGE - 64, 'a', 64);
    close_middle();
    int before = arrived;
    _mm512_storeu_si512(got, _mm512_maskz_loadu_epi8(mask, at));
    for (int i = 0; i < 64; i++)
        CHECK_IS(got[i], i < open ? 'a' : 0);
    _mm512_mask_storeu_epi8(at, mask, _mm512_set1_epi8('b'));
    for (int i = 0; i < open; i++)
        CHECK_IS(at[i], 'b');
    _mm512_storeu_si512(got, _mm512_mask_expandloadu_epi32(_mm512_set1_epi32(9), 0, pages + PAGE));
    _mm512_mask_compressstoreu_epi32(pages + PAGE, 0, _mm512_set1_epi32(9));
    CHECK_IS(arrived, before);
    /* One byte more is one fault, and then all of it happens. */
    if (open < 64) {
        _mm512_mask_storeu_epi8(at, mask << 1 | 1, _mm512_set1_epi8('c'));
        CHECK_IS(arrived, before + 1);
        for (int i = 0; i <= open; i++)
            CHECK_IS(at[i], 'c');
    }
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    if (!__builtin_cpu_supports("avx2"))
        return skip("no avx2 on this processor");
    pages = map(3 * PAGE, PROT_READ | PROT_WRITE);
    mends = true;
    handle(SIGSEGV, on_fault, 0);
    bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < LANES; i++) {
            if (i < 8)
                gather_avx2(i);
            masked_avx2(i % 9);
            if (!wide)
                continue;
            gather_avx512(i);
            scatter_avx512(i);
            masked_avx512(4 * i + turn);
        }
    say("%d faults\n", arrived);
    return verdict();
}
