/* SPDX-License-Identifier: MIT */
/* Counting and keeping descriptors. */
#include "analyze/findings.h"

#include <string.h>

void findings_init(struct findings *f, const struct findings_rules *rules, struct pool *pool)
{
    *f = (struct findings){.rules = rules, .pool = pool, .lowest = UINT64_MAX};
}

/* -- Keeping ------------------------------------------------------------------------------------ */

static void keep(struct findings *f, const struct descriptor *d)
{
    const size_t size = descriptor_size(d->depth);
    if (f->n_kept == f->kept_room) {
        const u32 room = f->kept_room ? 2 * f->kept_room : 2;
        f->kept =
            pool_realloc(f->pool, f->kept, f->kept_room * sizeof *f->kept, room * sizeof *f->kept);
        f->kept_room = room;
    }
    f->kept[f->n_kept++] = memcpy(pool_alloc(f->pool, size), d, size);
}

static void find_smallest(struct findings *f)
{
    f->least = UINT64_MAX;
    for (u32 i = 0; i < f->n_kept; i++) {
        const u64 refs = descriptor_refs(f->kept[i]);
        if (refs > f->least)
            continue;
        f->smallest = i;
        f->least = refs;
    }
}

static void drop_smallest(struct findings *f)
{
    struct descriptor **least = &f->kept[f->smallest];
    pool_free(f->pool, *least, descriptor_size((*least)->depth));
    memmove(least, least + 1, (--f->n_kept - f->smallest) * sizeof *least);
}

static void keep_if_larger(struct findings *f, const struct descriptor *d, u64 refs)
{
    const u32 most = f->rules->keep;
    if (!f->rules->all && f->n_kept == most) {
        if (refs <= f->least)
            return;
        drop_smallest(f);
    }
    keep(f, d);
    if (!f->rules->all && f->n_kept == most)
        find_smallest(f);
}

/* -- Counting ----------------------------------------------------------------------------------- */

static void count_stride(struct findings *f, u64 stride, u64 refs)
{
    u32 i = 0;
    while (i < f->n_strides && f->strides[i].stride != stride)
        i++;
    if (i == FOUND_STRIDES)
        return;
    if (i == f->n_strides)
        f->strides[f->n_strides++].stride = stride;
    f->strides[i].refs += refs;
}

/* Strides of either sign: the ends of each loop are its first round or its last. */
static void count_range(struct findings *f, const struct descriptor *d)
{
    u64 low = d->start, high = d->start;
    for (u32 i = 0; i < d->depth; i++) {
        u64 way = (d->loop[i].count - 1) * d->loop[i].stride;
        low += (s64)way < 0 ? way : 0;
        high += (s64)way > 0 ? way : 0;
    }
    f->lowest = MIN(f->lowest, low);
    f->highest = MAX(f->highest, high);
}

struct sum {
    u64 sum;
    u32 type;
};

static void add_digest(void *sum, u64 place, u64 address)
{
    struct sum *s = sum;
    s->sum += descriptor_digest(place, address, s->type);
}

/* Of what is irregular there is most: nothing is done that need not be. */
static void one_done(struct findings *f, const struct descriptor *d)
{
    f->refs[FOUND_irregular]++;
    f->iads++;
    f->lowest = MIN(f->lowest, d->start);
    f->highest = MAX(f->highest, d->start);
    if (f->rules->check)
        f->expanded += descriptor_digest(d->place, d->start, d->type);
    if (f->n_kept < f->rules->keep || f->rules->all)
        keep_if_larger(f, d, 1);
}

static void section_done(struct findings *f, const struct descriptor *d)
{
    const u64 refs = descriptor_refs(d);
    f->refs[d->depth > 1 ? FOUND_prsd : FOUND_rsd] += refs;
    f->rsds++;
    f->prsds += d->depth - 1;
    count_range(f, d);
    count_stride(f, d->loop[0].stride, refs);
    if (f->rules->check) {
        struct sum s = {.type = d->type};
        descriptor_expand(d, add_digest, &s);
        f->expanded += s.sum;
    }
    keep_if_larger(f, d, refs);
}

void findings_done(void *findings, const struct descriptor *d)
{
    if (d->depth)
        section_done(findings, d);
    else
        one_done(findings, d);
}

/* When as many are kept as may be, there is nothing left to do but to count. */
void findings_done_ones(void *findings, u64 place, const u64 *address, size_t n, size_t every)
{
    struct findings *f = findings;
    size_t i = 0;
    for (; i < n && (f->n_kept < f->rules->keep || f->rules->all || f->rules->check); i++)
        one_done(f, &(struct descriptor){.start = address[i * every], .place = place + i});
    f->refs[FOUND_irregular] += n - i;
    f->iads += n - i;
    u64 lowest = f->lowest, highest = f->highest;
    for (; i < n; i++) {
        lowest = MIN(lowest, address[i * every]);
        highest = MAX(highest, address[i * every]);
    }
    f->lowest = lowest;
    f->highest = highest;
}

void findings_given(struct findings *f, u64 place, const u64 *address, size_t n, size_t every)
{
    for (size_t i = 0; i < n; i++)
        f->given += descriptor_digest(place + i, address[i * every], 0);
}

u64 findings_refs(const struct findings *f)
{
    return f->refs[FOUND_irregular] + f->refs[FOUND_rsd] + f->refs[FOUND_prsd];
}

u64 findings_bytes(const struct findings *f)
{
    return (f->iads + f->rsds) * descriptor_size(0) +
           (f->rsds + f->prsds) * sizeof(struct descriptor_loop);
}

const struct descriptor *findings_largest(const struct findings *f)
{
    const struct descriptor *most = NULL;
    for (u32 i = 0; i < f->n_kept; i++)
        if (!most || descriptor_refs(f->kept[i]) > descriptor_refs(most))
            most = f->kept[i];
    return most;
}

const struct descriptor *findings_only(const struct findings *f)
{
    return f->rsds + f->iads == 1 ? findings_largest(f) : NULL;
}

bool findings_stride(const struct findings *f, u64 *stride, u64 *refs)
{
    *refs = 0;
    for (u32 i = 0; i < f->n_strides; i++)
        if (f->strides[i].refs > *refs) {
            *stride = f->strides[i].stride;
            *refs = f->strides[i].refs;
        }
    return *refs;
}
