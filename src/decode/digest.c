/* SPDX-License-Identifier: MIT */
/* The digest of events: order-dependent hashes of instructions, and of addresses, sizes, kinds and data. */
#include "decode/digest.h"
#include "decode/contents.h"
#include "wire/wire.h"

static u64 mix(u64 digest, u64 x)
{
    x = (digest ^ x) * 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

/* The instructions of an exit; of a guest's record, that it was there. State records are no events: those that say nothing new are
 * not in the file. */
static u64 mix_path(u64 digest, const struct unit_table *t, u32 id)
{
    if (id < FIRST_EXIT_ID)
        return id == RECORD_state ? digest : mix(digest, id);
    const struct unit_exit *x = &t->exits.v[id - FIRST_EXIT_ID];
    const struct unit_insn *in = &t->insns.v[t->units.v[x->unit].insn0];
    for (u32 i = 0; i < x->insns; i++)
        digest = digest * 0x9e3779b97f4a7c15ull + in[i].pc;
    return digest;
}

static u64 mix_contents(u64 digest, const struct contents *c)
{
    if (c->state != CONTENTS_known)
        return c->state ? mix(digest, c->state) : digest;
    for (u32 at = 0; at < c->size; at += 8) {
        u64 x = 0;
        memcpy(&x, c->bytes + at, MIN(c->size - at, 8u));
        digest = mix(digest, x);
    }
    return digest;
}

static u64 mix_data(u64 digest, const struct events *e, u32 i, u32 j)
{
    struct contents c;
    contents_read(e, i, j, &c);
    digest = mix_contents(digest, &c);
    contents_written(e, i, j, &c);
    return mix_contents(digest, &c);
}

void digest_batch(struct digest *d, const struct events *e)
{
    const struct unit_table *t = e->table;
    const struct batch *b = e->batch;
    for (u32 i = e->continues; i < b->n_records; i++)
        d->insns = mix_path(d->insns, t, b->exit[i]);
    for (u32 i = 0; i < b->n_records; i++)
        for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
            bool odd = b->ref[j] & BATCH_ODD;
            u32 k = b->ref[j] & ~BATCH_ODD;
            const struct ref *r = &t->refs.v[odd ? b->odd[k].ref : k];
            u64 size = odd ? b->odd[k].size : r->size;
            d->refs = mix(d->refs, b->addr[j] + (size << 50 ^ (u64)r->kind << 62));
            if (r->before || r->after)
                d->refs = mix_data(d->refs, e, i, j);
        }
}

u64 digest_of_thread(u32 thread, const struct digest *d)
{
    return d->insns | d->refs ? mix(mix(d->insns, thread + 1ul), d->refs) : 0;
}
