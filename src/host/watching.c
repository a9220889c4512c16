/* SPDX-License-Identifier: MIT */
/* Which functions of the program are watched: those that allocate and free, by the symbols of the files that are mapped. */
#include "host/process.h"
#include "image/functions.h"

#include <stdlib.h>
#include <string.h>

/* Heads in one mapping of a file. */
struct search {
    const struct map *map;
    struct heads {
        VEC(struct watched) v;
    } * heads;
};

static enum watch kind_of(const char *name)
{
#define ALLOCATOR(symbol, kind) \
    if (!strcmp(name, #symbol)) \
        return WATCH_##kind;
#include "host/allocators.def"
#undef ALLOCATOR
    return WATCH_nothing;
}

/* All of them begin so; most others do not. */
static bool may_be_one(const char *name)
{
    return strchr("mvpcarf_", name[0]) && (name[0] != '_' || (name[1] == 'Z' && strchr("nd", name[2])));
}

static void add_head(void *ctx, const char *name, u64 offset)
{
    struct search *s = ctx;
    const struct map *m = s->map;
    enum watch kind = may_be_one(name) ? kind_of(name) : WATCH_nothing;
    if (kind == WATCH_nothing || offset < m->offset || offset - m->offset >= m->end - m->start)
        return;
    const struct watched x = {m->start + (offset - m->offset), kind};
    for (size_t i = 0; i < s->heads->v.n; i++)
        if (s->heads->v.v[i].pc == x.pc)
            return;
    vec_push(&s->heads->v, x);
}

static bool has_functions(const struct map *m)
{
    return m->perms[2] == 'x' && m->path[0] == '/';
}

/* A sum of the files that are mapped, and where. */
static u64 sum_of(const struct process *p)
{
    u64 h = 0;
    for (size_t i = 0; i < p->n_maps; i++) {
        const struct map *m = &p->maps[i];
        if (!has_functions(m))
            continue;
        h = (h ^ m->start ^ m->offset << 20) * 0x9e3779b97f4a7c15ull;
        for (const char *c = m->path; *c; c++)
            h = (h ^ (u8)*c) * 0x100000001b3ull;
    }
    return h;
}

void watching_note(struct process *p)
{
    struct heads heads = {0};
    const u64 sum = p->run->options->watch ? sum_of(p) : p->watching;
    if (sum == p->watching)
        return;
    p->watching = sum;
    for (size_t i = 0; i < p->n_maps; i++)
        if (has_functions(&p->maps[i]))
            image_functions(p->maps[i].path, add_head, &(struct search){&p->maps[i], &heads});
    translate_watch(p->translator, heads.v.v, heads.v.n);
    vec_fini(&heads.v);
}
