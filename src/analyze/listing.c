/* SPDX-License-Identifier: MIT */
/* Expanding all descriptors of a thread into one array, by place. */
#include "analyze/listing.h"
#include "base/err.h"

#include <inttypes.h>
#include <stdlib.h>

struct listed {
    u64 pc; /* 0: not known */
    u64 address;
    u32 type;
    bool there;
};

struct listing {
    struct listed *refs; /* of one thread, by place */
    u64 n;
    struct listed of; /* the stream's */
    u64 *address;     /* the stream's, one after the other */
    u64 n_address;
};

static void put_address(void *listing, u64 place, u64 address)
{
    struct listing *l = listing;
    if (place < l->n_address)
        l->address[place] = address;
}

/* Of the detector of places, what it takes for addresses are the places. */
static void put_place(void *listing, u64 i, u64 place)
{
    struct listing *l = listing;
    if (place >= l->n || i >= l->n_address)
        return;
    l->refs[place] = l->of;
    l->refs[place].address = l->address[i];
}

static void put_merged(void *listing, u64 place, u64 address)
{
    struct listing *l = listing;
    if (place >= l->n)
        return;
    l->refs[place] = l->of;
    l->refs[place].address = address;
}

static void add_stream(struct listing *l, const struct stream *s, const struct static_ref *r)
{
    l->of = (struct listed){.pc = r->pc, .type = r->type, .there = true};
    l->n_address = s->where.place;
    l->address = zeros(l->n_address, sizeof *l->address);
    for (u32 i = 0; i < s->at.n_kept; i++)
        descriptor_expand(s->at.kept[i], put_address, l);
    for (u32 i = 0; i < s->order.n_kept; i++)
        descriptor_expand(s->order.kept[i], put_place, l);
    free(l->address);
}

static void add_merged(struct listing *l, const struct stream *s)
{
    for (u32 i = 0; i < s->at.n_kept; i++) {
        l->of = (struct listed){.type = s->at.kept[i]->type, .there = true};
        descriptor_expand(s->at.kept[i], put_merged, l);
    }
}

static void print_refs(FILE *f, const struct listing *l, u32 thread)
{
    static const char *const events[] = {
        [REF_LOAD] = "load", [REF_STORE] = "store", [REF_MODIFY] = "modify", "?"};
    for (u64 i = 0; i < l->n; i++) {
        const struct listed *r = &l->refs[i];
        if (!r->there)
            fprintf(f, "%6u  missing\n", thread);
        else
            fprintf(f, "%6u %16" PRIx64 "  %-6s %18" PRIx64 " %5u\n", thread, r->pc,
                    events[type_kind(r->type)], r->address, type_size(r->type));
    }
}

void listing_print(FILE *f, const struct streams *parts, u32 n_parts, const struct statics *statics,
                   bool merged)
{
    for (size_t t = 0; t < parts->threads.n; t++) {
        const struct stream_thread *thread = &parts->threads.v[t];
        struct listing l = {.n = thread->refs, .refs = zeros(thread->refs, sizeof *l.refs)};
        for (u32 k = 0; k < n_parts; k++)
            for (size_t i = 0; i < parts[k].all.n; i++) {
                const struct stream *s = parts[k].all.v[i];
                if (s->thread == thread->thread && merged)
                    add_merged(&l, s);
                else if (s->thread == thread->thread)
                    add_stream(&l, s, &statics->refs.v[s->number]);
            }
        print_refs(f, &l, thread->thread);
        free(l.refs);
    }
}
