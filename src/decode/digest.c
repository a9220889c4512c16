/* SPDX-License-Identifier: MIT */
/* The digest of events: an order-dependent hash of exits, addresses, references and sizes. */
#include "decode/digest.h"
#include "wire/wire.h"

static u64 mix(u64 digest, u64 x)
{
    x = (digest ^ x) * 0x9e3779b97f4a7c15ull;
    return x ^ x >> 29;
}

/* State records are no events: those that say nothing new are not in the file. */
u64 digest_batch(u64 digest, const struct unit_table *t, const struct batch *b, bool continues)
{
    for (u32 i = 0; i < b->n_records; i++) {
        if (b->exit[i] != RECORD_state && !(i == 0 && continues))
            digest = mix(digest, b->exit[i]);
        for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
            bool odd = b->ref[j] & BATCH_ODD;
            u32 k = b->ref[j] & ~BATCH_ODD, ref = odd ? b->odd[k].ref : k;
            digest = mix(mix(digest, b->addr[j]), (u64)ref << 32 | (odd ? b->odd[k].size : t->refs.v[ref].size));
        }
    }
    return digest;
}

u64 digest_of_thread(u32 thread, u64 digest)
{
    return digest ? mix(digest, thread + 1ul) : 0;
}
