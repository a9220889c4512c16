/* SPDX-License-Identifier: MIT */
/* Sentences: how a reference goes through memory, and what programmers call that. */
#include "analyze/phrases.h"
#include "analyze/statics.h"

#include <inttypes.h>

enum { NEARLY_ALL = 90 /* percent: then one descriptor says it */, MOST = 50 };

static const char *const verbs[] = {
    [REF_LOAD] = "read", [REF_STORE] = "written", [REF_MODIFY] = "read and written"};
static const char *const names[] = {
    [REF_LOAD] = "Read", [REF_STORE] = "Write", [REF_MODIFY] = "Modify"};

const char *type_name(u32 type)
{
    return names[type_kind(type) % ARRAY_LEN(names)];
}

static const char *verb(u32 type)
{
    return verbs[type_kind(type) % ARRAY_LEN(verbs)];
}

/* A file may say that it is none. */
static u32 size_of(u32 type)
{
    return MAX(type_size(type), 1u);
}

static u64 magnitude(u64 stride)
{
    return (s64)stride < 0 ? 0 - stride : stride;
}

/* -- What programmers call it ------------------------------------------------------------------- */

/* The first loop from i on that goes somewhere. */
static const struct descriptor_loop *mover(const struct descriptor *d, u32 i)
{
    for (; i < d->depth; i++)
        if (d->loop[i].stride)
            return &d->loop[i];
    return NULL;
}

/* The stride is larger than the elements. */
static void print_strided(FILE *f, u64 stride, u32 size, const struct descriptor_loop *outer)
{
    if (outer && magnitude(outer->stride) == size && stride % size == 0)
        fputs("column walk of a row-major array", f);
    else if (stride % size == 0)
        fprintf(f, "one element of %" PRIu64, stride / size);
    else
        fputs("strided", f);
}

static void print_class(FILE *f, const struct descriptor *d, u32 size)
{
    const struct descriptor_loop *in = mover(d, 0);
    if (!in) {
        fputs("one place", f);
        return;
    }
    const u32 next = (u32)(in - d->loop) + 1;
    const struct descriptor_loop *out = mover(d, next);
    const u64 stride = magnitude(in->stride);
    if (stride > size)
        print_strided(f, stride, size, out);
    else if (stride < size)
        fputs("overlapping", f);
    else if (out && magnitude(out->stride) > in->count * size)
        fputs("row by row", f);
    else
        fputs("sequential", f);
    if ((s64)in->stride < 0)
        fputs(", backwards", f);
    if (in > d->loop)
        fputs(", each again and again", f);
    if (next < d->depth && !d->loop[next].stride)
        fputs(", swept again and again", f);
}

/* -- What it does ------------------------------------------------------------------------------- */

static void print_loops(FILE *f, const struct descriptor *d)
{
    const struct descriptor_loop *l = d->loop;
    if (l->stride)
        fprintf(f, "with stride %" PRId64 " B, %" PRIu64 " times", (s64)l->stride, l->count);
    else
        fprintf(f, "at one address, %" PRIu64 " times", l->count);
    for (u32 i = 1; i < d->depth; i++)
        if (d->loop[i].stride)
            fprintf(f, ", repeated %" PRIu64 " times at %+" PRId64 " B", d->loop[i].count,
                    (s64)d->loop[i].stride);
        else
            fprintf(f, ", repeated %" PRIu64 " times at the same place", d->loop[i].count);
}

void phrase_print_one(FILE *f, const struct descriptor *d, u32 type)
{
    fprintf(f, "%s ", verb(type));
    if (!d->depth) {
        fputs("once", f);
        return;
    }
    print_loops(f, d);
    fputs(": ", f);
    print_class(f, d, size_of(type));
}

static void print_runs(FILE *f, const struct findings *x, u64 stride, u32 type)
{
    const u64 regular = x->refs[FOUND_rsd] + x->refs[FOUND_prsd];
    fprintf(f, "%s in %" PRIu64 " runs, of %.0f on average, mostly with stride %" PRId64 " B: ",
            verb(type), x->rsds, (double)regular / (double)x->rsds, (s64)stride);
    union any_descriptor d = {.d = {.depth = 1}};
    d.d.loop[0] = (struct descriptor_loop){.count = 3, .stride = stride};
    print_class(f, &d.d, size_of(type));
    if (x->refs[FOUND_irregular])
        fprintf(f, "; %" PRIu64 " irregular", x->refs[FOUND_irregular]);
}

void phrase_print(FILE *f, const struct findings *x, u32 type)
{
    const struct descriptor *d = findings_largest(x);
    const u64 refs = findings_refs(x), largest = d ? descriptor_refs(d) : 0;
    u64 stride, strided;
    if (refs <= 1 || (largest > 1 && 100 * largest / NEARLY_ALL >= refs)) {
        phrase_print_one(f, d, type);
        if (largest < refs)
            fprintf(f, "; %" PRIu64 " others elsewhere", refs - largest);
    } else if (findings_stride(x, &stride, &strided) && 100 * strided / MOST >= refs) {
        print_runs(f, x, stride, type);
    } else {
        fprintf(f, "%s irregularly, %" PRIu64 " times within %" PRIu64 " B", verb(type), refs,
                x->highest - x->lowest + type_size(type));
    }
}
