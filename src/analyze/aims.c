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

/* Whether nothing but what it came to last can be there. */
static inline bool is_latest(const struct aim *x, struct variable_part *p, u32 ref, u64 address, u32 place)
{
    return address - x->latest.start < x->latest.end - x->latest.start && x->change == variables_change(p) &&
           (!x->latest.moves || x->frame == variables_frame(p, ref, place));
}

static void look(struct aim *x, struct variable_part *p, u32 ref, u64 address, u32 place)
{
    x->latest = variables_stretch(p, address, ref);
    x->change = variables_change(p);
    x->frame = x->latest.moves ? variables_frame(p, ref, place) : 0;
    if (!variables_is_vague(p, x->latest.number)) {
        add(x, x->latest.number);
    } else if (!x->is_vague) {
        x->is_vague = true;
        x->address = address;
    }
}

void aims_put(struct aims *a, struct variable_part *p, u32 number, const u32 *refs, const u64 *address, const u32 *place, size_t n)
{
    vec_reach(&a->v, number);
    struct aim *x = &a->v.v[number];
    for (size_t i = 0; i < n && !x->more; i++) { /* if there are more than can be told, that is all there is to know */
        if (is_latest(x, p, refs[place[i]], address[i], place[i]))
            continue;
        variables_until(p, place[i]);
        look(x, p, refs[place[i]], address[i], place[i]);
    }
}

void aims_end(struct aims *a, struct variable_part *p)
{
    for (size_t i = 0; i < a->v.n; i++)
        if (a->v.v[i].is_vague)
            add(&a->v.v[i], variables_late(p, a->v.v[i].address));
}

const char *aims_text(const struct aims *a, u32 number, struct variables *v, char *text, size_t room)
{
    const struct aim *x = number < a->v.n ? &a->v.v[number] : NULL;
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
