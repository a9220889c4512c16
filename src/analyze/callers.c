/* SPDX-License-Identifier: MIT */
/* Frame by frame, through the files of their code. */
#include "analyze/callers.h"
#include "image/unwind.h"

#include <stdlib.h>

enum { DEEPEST = 4096 };

void callers_init(struct callers *c)
{
    *c = (struct callers){0};
}

void callers_fini(struct callers *c)
{
    sources_fini(&c->sources);
    vec_fini(&c->modules);
    vec_fini(&c->list);
}

/* Take in the modules that have come since the last time. They are of one process. */
static void look_at_modules(struct callers *c)
{
    struct trace_module m[16];
    for (size_t n; c->mapped && (n = c->mapped->read(c->mapped->ctx, c->modules.n, m, ARRAY_LEN(m)));)
        for (size_t i = 0; i < n; i++) {
            m[i].process = 0;
            vec_push(&c->modules, m[i]);
        }
    c->sources.modules = c->modules.v;
    c->sources.n_modules = c->modules.n;
}

/* -- Frames ------------------------------------------------------------------------------------- */

static bool read_copy(void *copy, u64 address, u64 *value)
{
    const struct stack_copy *s = copy;
    size_t from = 0, to = s->words.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s->words.v[middle].at < address)
            from = middle + 1;
        else
            to = middle;
    }
    bool found = from < s->words.n && s->words.v[from].at == address;
    *value = found ? s->words.v[from].value : 0;
    return found;
}

/* A return address is behind the call: its instruction is what the caller is at. Where the function begins that is left. */
static bool step(struct callers *c, struct stack_copy *s, struct unwound *x, bool is_caller, u64 *beginning)
{
    u64 pc = x->pc - is_caller, way = 0, offset, rsp = x->reg[UNWIND_RSP];
    struct image *image = sources_image(&c->sources, 0, pc, &offset);
    if (!image)
        return false;
    if (image_unwind(image, offset, x, read_copy, s)) {
        image_way_in(image, offset, &way);
    } else if (!is_caller && read_copy(s, rsp, &x->pc)) { /* written in assembly, perhaps: as if it had used no stack */
        x->reg[UNWIND_RSP] = rsp + 8;
    } else if (image_is_entry(image, offset)) {
        *x = (struct unwound){.pc = 0};
        x->reg[UNWIND_RSP] = rsp + 8;
    } else {
        return false;
    }
    *beginning = pc - way;
    return true;
}

void callers_find(struct callers *c, const struct stack_copy *s)
{
    struct stack_copy copy = *s;
    struct unwound x = {.pc = s->pc, .known = 1u << UNWIND_RSP | 1u << UNWIND_RBP};
    x.reg[UNWIND_RSP] = s->rsp;
    x.reg[UNWIND_RBP] = s->rbp;
    c->list.n = 0;
    c->is_whole = false;
    look_at_modules(c);
    while (c->list.n < DEEPEST) {
        u64 pc, rsp = x.reg[UNWIND_RSP];
        if (!step(c, &copy, &x, c->list.n > 0, &pc) || x.reg[UNWIND_RSP] <= rsp)
            return;
        vec_push(&c->list, ((struct caller){pc, x.reg[UNWIND_RSP] - 8}));
        c->is_whole = !x.pc;
        if (!x.pc)
            return;
    }
}
