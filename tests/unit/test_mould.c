/* SPDX-License-Identifier: MIT */
/* What is cast in a mould is what the decoder makes of the same bytes, field by field: our own code, that of the C library, and random bytes
 * whose beginnings come back with other numbers behind them. */
#include "translate/mould.h"
#include "test.h"

#include <link.h>
#include <string.h>

static bool same(const struct insn *a, const struct insn *b)
{
    return a->pc == b->pc && a->target == b->target && a->len == b->len && a->class == b->class && a->is_rep == b->is_rep &&
           a->reads == b->reads && a->writes == b->writes && a->changes == b->changes && a->names == b->names &&
           !memcmp(a->bytes, b->bytes, a->len) && !memcmp(&a->z, &b->z, sizeof a->z) &&
           !memcmp(a->op, b->op, a->z.operand_count * sizeof a->op[0]);
}

/* Its length; 1 if it is none. */
static u32 compare(struct moulds *m, u64 pc, const u8 *bytes, size_t size)
{
    static struct insn a, b;
    bool is = insn_decode(&a, pc, bytes, size), is_too = mould_decode(m, &b, pc, bytes, size);
    CHECK_CASE(is == is_too && (!is || same(&a, &b)), "%02x %02x %02x %02x %02x %02x %02x %02x", bytes[0], bytes[1], bytes[2], bytes[3],
               bytes[4], bytes[5], bytes[6], bytes[7]);
    return is ? a.len : 1;
}

static int code_of_library(struct dl_phdr_info *info, size_t size, void *moulds)
{
    (void)size;
    for (u32 i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        const u8 *code = (const u8 *)(info->dlpi_addr + p->p_vaddr);
        size_t most = MIN((size_t)p->p_memsz, 1ul << 20);
        for (size_t at = 0; at < most;)
            at += compare(moulds, (u64)(uintptr_t)code + at, code + at, MIN(most - at, 15ul));
    }
    return 0;
}

static u64 random_state = 1;
static u64 random_next(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state >> 11;
}

static void random_bytes(struct moulds *m)
{
    static const u8 beginnings[] = {0x66, 0xf2, 0xf3, 0x64, 0x0f, 0x48, 0x41, 0x4c, 0x67, 0xf0, 0x2e, 0xc1, 0xc0, 0x83};
    u8 bytes[15];
    for (u32 i = 0; i < 60000; i++) {
        for (u32 k = 0; k < sizeof bytes; k++)
            bytes[k] = (u8)random_next();
        for (u32 k = 0; k < random_next() % 4; k++)
            bytes[k] = beginnings[random_next() % sizeof beginnings];
        u32 kept = 1 + random_next() % 7;
        for (u32 round = 0; round < 4; round++) {
            compare(m, 0x401000 + random_next() % 0x100000000, bytes, round == 3 ? random_next() % 16 : sizeof bytes);
            for (u32 k = kept; k < sizeof bytes; k++)
                bytes[k] = (u8)random_next();
        }
    }
}

int main(void)
{
    struct moulds *m = moulds_new();
    random_bytes(m);
    dl_iterate_phdr(code_of_library, m);
    moulds_free(m);
    return test_end("mould");
}
