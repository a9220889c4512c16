/* SPDX-License-Identifier: MIT */
/* Code that may change, and a cache that is full, on plain bytes: what is checked, where units end, what is forgotten. */
#include "translate/state.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define BASE 0x555500000000ul
#define CODE 0x7ffff7c00000ul
#define JUMP 0x7f000000ul

enum { CODE_SIZE = 3 * 4096 };

static u8 *wire, code[CODE_SIZE];
static u64 volatile_from, volatile_to;
static u32 begins, drops, stops;

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    (void)ctx;
    if (pc < CODE || pc >= CODE + CODE_SIZE)
        return 0;
    n = MIN(n, CODE + CODE_SIZE - pc);
    memcpy(buf, code + (pc - CODE), n);
    return n;
}

static enum code_kind kind(void *ctx, u64 pc)
{
    (void)ctx;
    return pc >= volatile_from && pc < volatile_to ? CODE_VOLATILE : CODE_STABLE;
}

static void begin(void *ctx)
{
    (void)ctx;
    begins++;
}

static void dropped(void *ctx)
{
    (void)ctx;
    drops++;
}

static bool stop(void *ctx)
{
    (void)ctx;
    return ++stops < 1000;
}

static void go(void *ctx)
{
    (void)ctx;
}

/* A translator for these bytes, all of them volatile. */
static struct translator *open(const void *bytes, size_t n, u32 cache_size)
{
    struct translate_config c = {.fetch = fetch,
                                 .kind = kind,
                                 .begin = begin,
                                 .dropped = dropped,
                                 .stop = stop,
                                 .go = go,
                                 .wire = wire,
                                 .base = BASE,
                                 .jump = JUMP,
                                 .cache_size = cache_size,
                                 .no_ahead = true,
                                 .events = EVENTS_memory};
    u64 *guest = &c.guest.start;
    for (u64 i = 0; i < sizeof c.guest / 8; i++)
        guest[i] = BASE + WIRE_GUEST_OFF + 0x100 * (i + 1);
    madvise(wire, WIRE_SIZE, MADV_DONTNEED);
    memset(code, 0x90, sizeof code);
    memcpy(code, bytes, n);
    volatile_from = CODE;
    volatile_to = CODE + CODE_SIZE;
    begins = drops = stops = 0;
    return translator_new(&c);
}

#define OPEN(bytes) open(bytes, sizeof bytes - 1, 0)

static struct err why;

static u64 ask(struct translator *t, u64 offset)
{
    return translate_pc(t, (struct app_pc){CODE + offset}, BY_LINK, &why).v;
}

static const struct unit *unit_at(struct translator *t, u64 offset)
{
    const struct place *p = places_find(&t->places, CODE + offset);
    return p && p->unit ? &t->table.units.v[p->unit - 1] : NULL;
}

/* Run the check of a unit as the processor would: which sum does it make of the bytes that are there now? */
static bool check_passes(struct translator *t, u64 entry)
{
    const u8 *p = wire + WIRE_CACHE_OFF + (entry - t->cache);
    u32 ecx = 0;
    u64 sum = 0;
    for (;;) {
        struct insn in;
        check(insn_decode(&in, 0, p, 15));
        p += in.len;
        if (in.class == INSN_JCX)
            return sum == 0;
        if ((in.z.mnemonic == ZYDIS_MNEMONIC_MOV || in.z.mnemonic == ZYDIS_MNEMONIC_MOVZX) &&
            in.op[1].type == ZYDIS_OPERAND_TYPE_MEMORY && in.op[1].mem.base == ZYDIS_REGISTER_R10) {
            ecx = 0;
            memcpy(&ecx, code + in.op[1].mem.disp.value, in.op[1].size / 8);
        }
        if (in.z.mnemonic == ZYDIS_MNEMONIC_LEA && in.op[0].reg.value == ZYDIS_REGISTER_ECX)
            ecx += (u32)in.op[1].mem.disp.value;
        if (in.z.mnemonic == ZYDIS_MNEMONIC_LEA && in.op[0].reg.value == ZYDIS_REGISTER_RDX)
            sum += ecx;
    }
}

/* -- The check -------------------------------------------------------------------------------- */

/* Nine bytes and a jump over a gap to three more: each is checked, the gap is not. */
static void every_byte_of_a_unit_is_checked(void)
{
    struct translator *t = OPEN("\x48\xb8\1\2\3\4\5\6\7\x08\xeb\x04\xcc\xcc\xcc\xcc\x31\xc0\xc3");
    u64 entry = ask(t, 0);
    CHECK(entry != 0 && unit_at(t, 0)->n_insns == 4 && check_passes(t, entry));
    for (u32 i = 0; i < 19; i++) {
        bool in_gap = i >= 12 && i < 16;
        for (u32 bit = 0; bit < 8; bit++) {
            code[i] ^= (u8)(1 << bit);
            CHECK_CASE(check_passes(t, entry) == in_gap, "byte %u bit %u", i, bit);
            code[i] ^= (u8)(1 << bit);
        }
    }
    translator_free(t);
}

/* Two changes whose differences would cancel each other. */
static void changes_do_not_cancel_out(void)
{
    struct translator *t = OPEN("\x48\xb8\1\2\3\4\5\6\7\x08\xc3");
    u64 entry = ask(t, 0);
    code[2]++;
    code[6]--;
    CHECK(!check_passes(t, entry));
    translator_free(t);
}

static void stable_code_has_no_check(void)
{
    struct translator *t = OPEN("\x31\xc0\xc3");
    volatile_to = CODE;
    u64 entry = ask(t, 0);
    const struct place *p = places_find(&t->places, CODE);
    CHECK(entry && p->inner != p->entry);
    translator_free(t);
}

static void no_way_leads_past_the_check(void)
{
    struct translator *t = OPEN("\x31\xc0\xeb\x00\x88\x07\x90\xc3");
    ask(t, 0);
    for (u32 i = 0; i < t->places.cap; i++) {
        const struct place *p = &t->places.v[i];
        CHECK(!p->unit || p->inner == p->entry);
    }
    translator_free(t);
}

/* -- Where units end -------------------------------------------------------------------------- */

static u32 length(const void *bytes, size_t n)
{
    struct translator *t = open(bytes, n, 0);
    CHECK(ask(t, 0) != 0);
    u32 insns = unit_at(t, 0)->n_insns;
    translator_free(t);
    return insns;
}
#define LENGTH(bytes) length(bytes, sizeof bytes - 1)

static void a_store_ends_its_unit(void)
{
    CHECK(LENGTH("\x90\x88\x07\x90\x90\xc3") == 2);         /* mov [rdi], al */
    CHECK(LENGTH("\x90\x00\x07\x90\x90\xc3") == 2);         /* add [rdi], al */
    CHECK(LENGTH("\x90\xf3\xaa\x90\x90\xc3") == 2);         /* rep stosb */
    CHECK(LENGTH("\x90\x0f\xc7\x27\x90\xc3") == 2);         /* xsavec [rdi] */
    CHECK(LENGTH("\x90\x8a\x07\x90\x90\xc3") == 5);         /* mov al, [rdi] */
    CHECK(LENGTH("\x90\x50\x88\x44\x24\x08\x58\xc3") == 5); /* push; mov [rsp+8], al; pop */
    CHECK(LENGTH("\x90\x48\x89\xc4\x50\x90\xc3") == 3);     /* mov rsp, rax; push */
    CHECK(LENGTH("\x90\x88\x44\x04\x08\x90\xc3") == 2);     /* mov [rsp+rax+8], al */
}

static void a_unit_is_volatile_or_not_as_a_whole(void)
{
    struct translator *t = OPEN("\x90\x90\x90\x90\xc3");
    volatile_from = CODE + 2;
    CHECK(ask(t, 0) && unit_at(t, 0)->n_insns == 2);
    CHECK(ask(t, 2) && unit_at(t, 2)->n_insns == 3);
    translator_free(t);
}

/* -- Changes ---------------------------------------------------------------------------------- */

static void changed_code_is_translated_anew(void)
{
    struct translator *t = OPEN("\x31\xc0\xc3");
    u64 entry = ask(t, 0);
    code[0] = 0x29;
    u64 after = translate_changed(t, (struct app_pc){CODE}, 0, &why).v;
    CHECK(after && after != entry && check_passes(t, after) && drops == 1);
    /* A second thread that found the same comes to what is there. */
    CHECK(translate_changed(t, (struct app_pc){CODE}, 0, &why).v == after && drops == 1);
    translator_free(t);
}

static void stack_stores_are_not_trusted_near_the_stack(void)
{
    struct translator *t = OPEN("\x50\x90\x58\xc3");
    u64 entry = ask(t, 0);
    CHECK(unit_at(t, 0)->n_insns == 4);
    CHECK(translate_changed(t, (struct app_pc){CODE}, CODE + (1 << 20), &why).v == entry);
    CHECK(translate_changed(t, (struct app_pc){CODE}, CODE - 64, &why).v != entry);
    CHECK(unit_at(t, 0)->n_insns == 1);
    translator_free(t);
}

/* -- The full cache --------------------------------------------------------------------------- */

/* Much more code than the cache holds: it goes on, and what comes back has the numbers it had. */
static void a_full_cache_begins_anew(void)
{
    struct translator *t = open("", 0, 384 << 10);
    volatile_to = CODE;
    u32 asked = 0;
    size_t units = 0;
    for (u32 round = 0; round < 8; round++) {
        for (u32 i = 0; i < CODE_SIZE - 16; i += 2, asked++)
            CHECK(ask(t, i) != 0);
        /* A few are others, by what is there when they are made: a unit that shares another's call has no landing of its own. */
        CHECK_CASE(round == 0 || t->table.units.n - units < units / 256, "round %u: %zu units, before %zu", round, t->table.units.n, units);
        units = t->table.units.n;
    }
    CHECK(t->stats.flushes > 2 && stops == t->stats.flushes);
    CHECK(t->table.units.n > t->places.n / 2);
    translator_free(t);
}

static void a_flush_forgets_everything(void)
{
    struct translator *t = OPEN("\x31\xc0\xc3");
    CHECK(translate_pc(t, (struct app_pc){CODE}, BY_JUMP, &why).v != 0);
    const u64 *jump = (const u64 *)(wire + WIRE_JUMP_OFF);
    const struct index_entry *index = (const struct index_entry *)(wire + WIRE_INDEX_OFF) + index_hash(CODE);
    CHECK(jump[CODE & JUMP_MASK] != t->config.guest.indirect && index->entry);
    CHECK(translate_flush(t, &why) && jump[CODE & JUMP_MASK] == t->config.guest.indirect && !index->pc);
    CHECK(!places_find(&t->places, CODE) && ask(t, 0) != 0);
    translator_free(t);
}

static void a_thread_that_stays_inside_refuses_the_flush(void)
{
    struct translator *t = OPEN("\x31\xc0\xc3");
    u64 entry = ask(t, 0);
    stops = 1000;
    CHECK(!translate_flush(t, &why) && strstr(why.text, "does not leave") && ask(t, 0) == entry);
    translator_free(t);
}

int main(void)
{
    wire = mmap(NULL, WIRE_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(wire != MAP_FAILED);
    every_byte_of_a_unit_is_checked();
    changes_do_not_cancel_out();
    stable_code_has_no_check();
    no_way_leads_past_the_check();
    a_store_ends_its_unit();
    a_unit_is_volatile_or_not_as_a_whole();
    changed_code_is_translated_anew();
    stack_stores_are_not_trusted_near_the_stack();
    a_full_cache_begins_anew();
    a_flush_forgets_everything();
    a_thread_that_stays_inside_refuses_the_flush();
    munmap(wire, WIRE_SIZE);
    return test_end("volatile");
}
