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
};

/* Where it is known what is there, without looking again. */
struct aim_latest {
    u64 start, size;
    u64 change, frame; /* as of this change; if it moves, with this frame */
    bool moves;
    bool is_all; /* there are more than can be told: that is all there is to know */
};

struct aims {
    struct variable_part *variables;
    const u64 *change; /* of these */
    VEC(struct aim) v; /* by index of the static reference */
};

/* A reference of a work. */
struct aimed {
    u64 address;
    u32 index; /* of the static one */
    u32 ref;   /* of the table */
    u32 place; /* in the work */
};

void aims_init(struct aims *a, struct variable_part *p);
void aims_look(struct aims *a, struct aim_latest *latest, const struct aimed *x);
/* They are put in the order of the program. */
static inline void aims_put(struct aims *a, struct aim_latest *latest, const struct aimed *x)
{
    const bool is_latest =
        x->address - latest->start < latest->size && latest->change == *a->change;
    if (!latest->is_all &&
        (!is_latest ||
         (latest->moves && latest->frame != variables_frame(a->variables, x->ref, x->place))))
        aims_look(a, latest, x);
}
/* All was put. */
void aims_end(struct aims *a);
/* For people, as far as there is room; NULL if nothing was put. */
const char *aims_text(const struct aims *a, u32 index, struct variables *v, char *text,
                      size_t room);
void aims_fini(struct aims *a);

#endif
