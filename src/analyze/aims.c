/* SPDX-License-Identifier: MIT */
/* Most references stay in one variable for long: it is looked at where it ends, and when something was allocated or freed. */
#include "analyze/aims.h"

#include <stdio.h>
#include <stdlib.h>

static void add(struct aim *x, u32 number)
{
    for (u32 i = 0; i < x->n; i++)
        if (x->number[i] == number)
            return;
    if (x->n < AIMS)
        x->number[x->n++] = number;
    else
        x->more = true;
}

void aims_init(struct aims *a, struct variable_part *p)
{
    *a = (struct aims){.variables = p, .change = variables_change(p)};
}

void aims_look(struct aims *a, struct aim_latest *latest, const struct aimed *x)
{
    struct variable_part *p = a->variables;
    vec_reach(&a->v, x->index);
    struct aim *of = &a->v.v[x->index];
    variables_until(p, x->place);
    const struct variable_stretch there = variables_stretch(p, x->address, x->ref);
    if (!variables_is_vague(p, there.number)) {
        add(of, there.number);
    } else if (!of->is_vague) {
        of->is_vague = true;
        of->address = x->address;
    }
    *latest = (struct aim_latest){.start = there.start,
                                  .size = there.end - there.start,
                                  .change = *a->change,
                                  .frame = there.moves ? variables_frame(p, x->ref, x->place) : 0,
                                  .moves = there.moves,
                                  .is_all = of->more};
}

void aims_end(struct aims *a)
{
    for (size_t i = 0; i < a->v.n; i++)
        if (a->v.v[i].is_vague)
            add(&a->v.v[i], variables_late(a->variables, a->v.v[i].address));
}

const char *aims_text(const struct aims *a, u32 index, struct variables *v, char *text, size_t room)
{
    const struct aim *x = index < a->v.n ? &a->v.v[index] : NULL;
    size_t n = 0;
    for (u32 i = 0; x && i < x->n && n < room; i++)
        n += (size_t)snprintf(text + n, room - n, "%s%s", i ? ", " : "", variables_name(v, x->number[i]).text);
    if (x && x->more && n < room)
        snprintf(text + n, room - n, " and others");
    return n ? text : NULL;
}

void aims_fini(struct aims *a)
{
    vec_fini(&a->v);
}
