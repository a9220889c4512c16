/* SPDX-License-Identifier: MIT */
/* Which variables a static reference comes to. */
#ifndef AIMS_H
#define AIMS_H

#include "analyze/variables.h"

enum { AIMS = 4 };

/* Of one static reference: the first few. */
struct aim {
    u32 n, number[AIMS];
    bool more;
    bool is_vague; /* it came to this address when little was known of it */
    u64 address;
    struct variable_stretch latest; /* as of this change, and with this frame: */
    u64 change, frame;
};

struct aims {
    VEC(struct aim) v; /* by static reference */
};

/* This one comes soon. */
static inline void aims_fetch(const struct aims *a, u32 number)
{
    if (number < a->v.n) {
        __builtin_prefetch(&a->v.v[number], 1);
        __builtin_prefetch((const u8 *)&a->v.v[number + 1] - 1, 1);
    }
}
/* Made at these addresses and places in the work, between which nothing is allocated or freed. refs: of the table, by place. */
void aims_put(struct aims *a, struct variable_part *p, u32 number, const u32 *refs, const u64 *address, const u32 *place, size_t n);
/* All was put. */
void aims_end(struct aims *a, struct variable_part *p);
/* For people, as far as there is room; NULL if nothing was put. */
const char *aims_text(const struct aims *a, u32 number, struct variables *v, char *text, size_t room);
void aims_fini(struct aims *a);

#endif
