/* SPDX-License-Identifier: MIT */
/* From a reference of a batch to the slots that have its value.
 *
 * Batches have no values: few ask for them, and those who do find them in the record itself. */
#include "decode/contents.h"
#include "wire/wire.h"

#include <string.h>

static const struct ref *static_ref(const struct events *e, u32 j)
{
    u32 r = e->batch->ref[j];
    return &e->table->refs.v[r & BATCH_ODD ? e->batch->odd[r & ~BATCH_ODD].ref : r];
}

static const u8 *slots_of(const struct events *e, u32 i)
{
    const u8 *slots = e->records + e->batch->record_at[i] + RECORD_SLOTS_AT;
    return e->batch->exit[i] == RECORD_partial ? slots + 8 : slots;
}

/* The address behind the instruction of a reference. */
static u64 next_pc(const struct events *e, u32 i, const struct ref *r)
{
    u32 unit, id = e->batch->exit[i];
    if (id == RECORD_partial)
        memcpy(&unit, e->records + e->batch->record_at[i] + RECORD_SLOTS_AT, sizeof unit);
    else
        unit = e->table->exits.v[id - FIRST_EXIT_ID].unit;
    const struct unit_insn *in = &e->table->insns.v[e->table->units.v[unit].insn0 + r->insn];
    return in->pc + in->len;
}

/* Masked forms keep whole registers. Such a reference is never parted between batches. */
static u32 place_in_value(const struct events *e, u32 i, u32 j, const struct ref *r, const u8 *slots)
{
    u32 n = 0;
    if (r->op < REF_MASK_K || r->op > REF_INDEX_V || r->op == REF_ANY_K)
        return 0;
    while (j - n > e->batch->first[i] && e->batch->ref[j - n - 1] == e->batch->ref[j])
        n++;
    return decode_element(r, slots, n) * r->size;
}

/* The number of an access of a rep instruction, if its data was kept: if all of it has room, runs upwards, and no fault has ended it. */
static bool rep_iteration(const struct events *e, u32 i, u32 j, const struct ref *r, const u8 *slots, u32 *number)
{
    u64 before = carried_term(NULL, slots, r->x), after = r->y == TERM_NONE ? 0 : carried_term(NULL, slots, r->y);
    u64 end = carried_term(NULL, slots, r->z), n = before - after, at = e->batch->addr[j];
    if (e->batch->exit[i] == RECORD_partial || n >= REP_DATA / r->size || at >= end)
        return false;
    *number = (u32)(n - (end - at) / r->size);
    return *number < n;
}

static void find(const struct events *e, u32 i, u32 j, u8 value, const struct ref *r, struct contents *out)
{
    *out = (struct contents){.size = r->size};
    if (value == VALUE_NONE)
        return;
    out->state = value == VALUE_UNKNOWN ? CONTENTS_unknown : CONTENTS_known;
    if (value == VALUE_NEXT) {
        u64 pc = next_pc(e, i, r);
        memcpy(out->own, &pc, 8);
        out->bytes = out->own;
    } else if (value_is_kept(value)) {
        const u8 *slots = slots_of(e, i);
        u32 number = 0;
        if (r->op == REF_REP && r->width && !rep_iteration(e, i, j, r, slots, &number))
            out->state = CONTENTS_unknown;
        out->bytes = slots + 8 * (size_t)(value - 1) + place_in_value(e, i, j, r, slots) + number * r->size;
    }
}

void contents_read(const struct events *e, u32 i, u32 j, struct contents *out)
{
    const struct ref *r = static_ref(e, j);
    find(e, i, j, r->before, r, out);
}

void contents_written(const struct events *e, u32 i, u32 j, struct contents *out)
{
    const struct ref *r = static_ref(e, j);
    find(e, i, j, r->after, r, out);
}
