/* SPDX-License-Identifier: MIT */
/* Records to events: a buffer of records and the unit table give batches of references. */
#ifndef DECODE_H
#define DECODE_H

#include "base/base.h"
#include "base/err.h"
#include "translate/unit.h"

#include <string.h>

/* What a thread carries from record to record. Every buffer begins with a state record, so buffers
 * decode alone. */
struct carried {
    u64 rsp, fs, gs;
    bool known; /* a state record was seen */
};

/* What a term of the unit table stands for in a record with these slots. */
static inline u64 carried_term(const struct carried *c, const u8 *slots, u8 term)
{
    if (term < TERM_SLOT_LIMIT) {
        u64 v;
        memcpy(&v, slots + 8 * (size_t)term, 8);
        return v;
    }
    switch (term) {
    case TERM_RSP:
        return c->rsp;
    case TERM_FS:
        return c->fs;
    case TERM_GS:
        return c->gs;
    default:
        return 0;
    }
}

/* The stack pointer behind a record of this exit. */
static inline u64 carried_rsp(const struct carried *c, const struct unit_exit *x, const u8 *slots)
{
    return carried_term(c, slots, x->rsp_term) + (u64)x->rsp_disp;
}

/* One batch: records in order, and their references in order.
 *
 * Record i has exit number exit[i] (the id on the wire) and the references first[i] .. first[i + 1]
 * - 1. Guest records (ids below FIRST_EXIT_ID), partial ones excepted, have no references; their slots are reached through
 * record_at[i]. ref[j] indexes the unit table's refs, or, with BATCH_ODD set, the batch's odd list:
 * references whose size is only known at run time. */
enum { BATCH_RECORDS = 2048, BATCH_REFS = 16384, BATCH_ODD_LIMIT = 1024 };
#define BATCH_ODD 0x80000000u

struct batch {
    u32 n_records, n_refs, n_odd;
    struct carried carried; /* before the first record, or the rest of one */
    u64 insns, loads, stores,
        modifies; /* of the records that are whole, or whose last part this is */
    u32 exit[BATCH_RECORDS];
    u32 record_at[BATCH_RECORDS + 1]; /* byte offset of the record in the buffer handed to
                                         decode_batch; behind the last, where that ends */
    u32 first[BATCH_RECORDS + 1];
    u64 addr[BATCH_REFS + 8]; /* vector stores may run over by a vector */
    u32 ref[BATCH_REFS + 8];
    struct {
        u32 ref, size;
    } odd[BATCH_ODD_LIMIT];
};

/* A batch, and whence it is. */
struct events {
    const struct unit_table *table;
    const struct batch *batch;
    const u8 *records; /* that it was decoded from: record_at counts from here */
    bool continues;    /* its first record is the rest of the last batch's last one */
    bool unfinished;   /* its last record goes on in the next batch */
    u32 shown;         /* with `continues`: instructions of the first record that earlier batches have shown */
};

/* What the next batch's `shown` is, if this one is unfinished: up to the instruction that made the last reference. */
u32 events_shown(const struct events *e);

/* The first slot of a partial record. */
struct partial {
    u32 unit;
    u16 insns, refs;
};

static inline struct partial partial_of(u64 slot)
{
    return (struct partial){(u32)slot, (u16)(slot >> 32), (u16)(slot >> 48)};
}

struct plans;

struct decoder {
    const struct unit_table *table;
    struct plans *plans; /* the vector path's, NULL where the processor has none */
    struct carried carried;
    bool unfinished; /* the last record of the batch goes on in the next batch */
    u32 ref_done;    /* its references already given out */
    u64 rep_done;    /* and iterations of the rep instruction at that point */
};

/* Which element of a masked reference its n-th access (from 0) is; its count if there is no such access. */
u32 decode_element(const struct ref *r, const u8 *slots, u32 n);

/* The table may grow while it is decoded from, but must not move. `scalar` forbids the vector path.
 */
void decoder_init(struct decoder *d, const struct unit_table *table, bool scalar);
void decoder_fini(struct decoder *d);
/* Forget what was carried: a new buffer follows. */
void decoder_reset(struct decoder *d);

/* Decode records from data into b until the data or the batch is full. Returns the bytes consumed
 * (a whole number of records; a huge rep instruction is given out over several batches, and
 * consumed with its last part), or -1 with a sentence: the data may come from a damaged file or a
 * hostile program. A zero header ends the data: *ended is set. */
s64 decode_batch(struct decoder *d, const u8 *data, size_t size, struct batch *b, bool *ended,
                 struct err *e);

#endif
