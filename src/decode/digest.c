/* SPDX-License-Identifier: MIT */
/* The digest of events: order-dependent hashes of instructions, and of addresses, sizes and kinds. */
#include "decode/digest.h"
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

void digest_batch(struct digest *d, const struct unit_table *t, const struct batch *b,
                  bool continues)
{
    for (u32 i = continues; i < b->n_records; i++)
        d->insns = mix_path(d->insns, t, b->exit[i]);
    for (u32 j = 0; j < b->n_refs; j++) {
        bool odd = b->ref[j] & BATCH_ODD;
        u32 k = b->ref[j] & ~BATCH_ODD;
        const struct ref *r = &t->refs.v[odd ? b->odd[k].ref : k];
        u64 size = odd ? b->odd[k].size : r->size;
        d->refs = mix(d->refs, b->addr[j] + (size << 50 ^ (u64)r->kind << 62));
    }
}

u64 digest_of_thread(u32 thread, const struct digest *d)
{
    return d->insns | d->refs ? mix(mix(d->insns, thread + 1ul), d->refs) : 0;
}
