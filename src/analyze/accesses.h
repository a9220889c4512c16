/* SPDX-License-Identifier: MIT */
/* The events of a batch, one by one: each instruction that ran, then its references. */
#ifndef ACCESSES_H
#define ACCESSES_H

#include "analyze/passes.h"
#include "decode/decode.h"

/* What is looked at. */
enum accessed { ACCESSED_data = 1, ACCESSED_code = 2, ACCESSED_both = 3 };

struct reference {
    u64 address;
    u32 id, size; /* id: of the unit table */
};

static inline struct reference reference_of(const struct events *e, u32 j)
{
    const struct batch *b = e->batch;
    u32 id = b->ref[j], k = id & ~BATCH_ODD;
    if (id & BATCH_ODD)
        return (struct reference){b->addr[j], b->odd[k].ref, b->odd[k].size};
    return (struct reference){b->addr[j], id, e->table->refs.v[id].size};
}

/* Who is told. Each is a constant where the walk is called, so that all is inlined. */
struct accessor {
    void (*insn)(void *context, u32 id, u32 i);              /* of the table; the i-th of its record */
    void (*ref)(void *context, const struct reference *r, u32 i); /* of the i-th instruction */
    void (*end)(void *context, u32 insns); /* of a record that ran so many instructions; NULL: nobody wants to know */
};

/* Record i, `shown` instructions of which were told of before. */
static inline __attribute__((always_inline)) void accesses_of_record(const struct events *e, u32 i,
                                                                     const struct ran *ran, u32 shown,
                                                                     bool unfinished,
                                                                     enum accessed of,
                                                                     struct accessor a,
                                                                     void *context)
{
    const struct unit *u = &e->table->units.v[ran->unit];
    for (u32 j = e->batch->first[i]; j < e->batch->first[i + 1]; j++) {
        struct reference r = reference_of(e, j);
        u32 insn = e->table->refs.v[r.id].insn;
        if (insn >= u->n_insns) /* not this unit's: a live program has changed its partial record */
            break;
        for (; shown <= insn; shown++)
            if (of & ACCESSED_code)
                a.insn(context, u->insn0 + shown, shown);
        if (of & ACCESSED_data)
            a.ref(context, &r, insn);
    }
    for (; !unfinished && shown < ran->insns; shown++)
        if (of & ACCESSED_code)
            a.insn(context, u->insn0 + shown, shown);
}

/* All of a batch. */
static inline __attribute__((always_inline)) void accesses_walk(const struct events *e,
                                                                enum accessed of, struct accessor a,
                                                                void *context)
{
    struct ran ran;
    for (u32 i = 0; i < e->batch->n_records; i++) {
        bool begun = e->continues && i == 0, goes_on = e->unfinished && i + 1 == e->batch->n_records;
        if (!events_ran(e, i, &ran))
            continue;
        accesses_of_record(e, i, &ran, begun ? e->shown : 0, goes_on, of, a, context);
        if (a.end && !goes_on)
            a.end(context, ran.insns);
    }
}

#endif
