/* SPDX-License-Identifier: MIT */
/* Why one level of a hierarchy misses: which misses are cold, of capacity or of conflict, what of the lines is used before they are
 * evicted, and who evicts whose. docs/man/gait-cache.1 says what is what.
 *
 * It is told what happens in the level's cache (of each core its own, if it is private), in the order of the program. Each line that was
 * ever asked for is remembered, with who brought it in; those that a fully associative cache would have are in a list, the latest first.
 *
 * Blocks come and go, so what data a touch comes to is found out when it does, and kept as the number of a place. Of some data little is known then; such
 * bytes are places of their own, and named when all is over. */
#ifndef WHY_H
#define WHY_H

#include "analyze/ledger.h"
#include "analyze/result.h"
#include "analyze/shape.h"
#include "analyze/spots.h"
#include "analyze/tally.h"
#include "analyze/touches.h"

/* What is counted: in all, of each reference point and of each place. */
enum why_count {
    WHY_hits,
    WHY_temporal, /* of these, such for bytes that were all used since the line came in */
    WHY_cold,     /* misses, to WHY_taken */
    WHY_capacity,
    WHY_conflict,
    WHY_taken,
    WHY_evictions, /* of lines that it had brought in */
    WHY_used,      /* bytes of these */
    WHY_COUNTS
};

/* Places: 0 is none, or all that did not fit; a variable's is its number + 1; or it is one of the unnamed. */
#define PLACE_UNNAMED 0x80000000u
struct unnamed {
    u32 process;
    u64 address;
    u32 number; /* of the variable, from why_end() on */
};

enum point_kind { POINT_read, POINT_write, POINT_fetch };

/* How a point goes through memory. */
struct why_walk {
    u64 touches, latest; /* the latest address */
    s64 step;            /* that most touches are from the one before, if there is such a one */
    u64 votes,
        seen; /* for it, less those against it; touches with it since it was thought to be that: at least so many there are */
    u64 grid; /* the largest number of bytes that all steps are multiples of; 0: there was none */
    u32 size; /* of the largest touch */
    u64 when; /* the latest was, by the clock of */
    u32 thread;
    u64 timed, insns; /* those of `seen` that are of one thread, and instructions from touch to touch in them */
};

enum { POINT_DATA = 4 };

/* A reference point: what an instruction reads, what it writes, or its own bytes. */
struct why_point {
    u32 process; /* whose memory the code is in */
    u64 pc;
    enum point_kind kind;
    u64 lowest, highest; /* first bytes that it touched */
    u32 data[POINT_DATA]; /* the places of these: the first few, */
    bool has_more;        /* and there are others; */
    u32 unnamed[2];       /* of those without a name, the first and the latest */
    struct why_walk walk;
    u64 found[SHAPE_LEVELS + 1]; /* lines that it missed: from which level they came, or behind the last one from memory */
    u32 feeder; /* the point that reads what its addresses are made of; FEEDER_none, or FEEDER_several */
    u64 count[WHY_COUNTS];
};
enum { FEEDER_none, FEEDER_several = 0xffffffffu };

struct why_line {
    u64 line;         /* with its owner; see cache.h */
    u64 used;         /* bytes of it since it came in last, as sharing.h has them */
    u32 filler;       /* the point that brought it in */
    u32 place;        /* what was wanted then */
    u32 newer, older; /* in the list */
    u32 flags;
};

/* When the touches of a list were made: instructions of the thread, but for so many before the list. */
struct why_times {
    u32 thread;
    u64 before;
    const u64 *v;
};

/* A core's cache, or that of all. */
struct why_cache {
    VEC(struct why_line) lines; /* the first is none, but both ends of the list */
    u32 *slots;                 /* a hash table: number of a line; 0: free */
    u64 n_slots;                /* a power of two, or 0 */
    u32 latest;                 /* the line that was looked for last */
    u64 listed;
};

struct why {
    const struct shape *hierarchy;
    struct cache_shape shape;
    u32 cache, level; /* which one of the hierarchy */
    bool takes[SIDES];
    u64 capacity; /* in lines */
    struct why_cache core[SHAPE_CORES];
    VEC(struct why_point) points; /* the first is none: all that did not fit */
    struct ledger numbers;        /* of points */
    struct ledger pairs;          /* of points: whose line was evicted, and by whom */
    struct ledger places;         /* counts by place */
    struct ledger place_pairs;
    VEC(struct unnamed) unnamed;
    struct ledger unnamed_numbers; /* + 1 */
    struct variable_part *part;    /* of the memory whose touches are being taken, */
    const struct touch *list, *now; /* from the first, up to this one, */
    u64 refs;                      /* before which there are so many references in the list */
    struct why_times times;
    u64 total[WHY_COUNTS];
};

/* Somebody's touch of a line of the first level. */
struct why_touch {
    u32 core;
    struct tally *tally;
    u32 id; /* of the instruction or reference */
    u64 address, size;
};

void why_init(struct why *w, const struct shape *s, u32 cache);
void why_fini(struct why *w);
/* A list of touches of a memory follows, among which are all its references. */
void why_begin(struct why *w, struct variable_part *p, const struct touch *list, struct why_times times);
/* What is told from here on is of this touch. */
static inline void why_reach(struct why *w, const struct touch *x)
{
    for (; w->now < x; w->now++)
        w->refs += !(w->now->id & TOUCH_CODE);
    variables_until(w->part, w->refs);
}
/* No more will come of the memory. */
void why_end(struct why *w, const struct tally *t, struct variable_part *p);
/* Find out whose loads make the addresses of the memory's points. */
void feeders_find(struct why *w, const struct tally *t);
/* The variable of a place, but of none, at the end. */
u32 why_variable(const struct why *w, u32 place);
/* The cache was asked for a line, with its owner, and had it or not; whether a miss brings it in. */
void why_ask(struct why *w, const struct why_touch *t, u64 line, bool hit, bool brings);
/* A line was put in, for which another had to go, or 0. */
void why_put(struct why *w, const struct why_touch *t, u64 line, u64 old);
/* A line was taken out of a core's cache. */
void why_take(struct why *w, u32 core, u64 line);
/* The touch has gone through all levels, of which it missed these, as bits. */
void why_use(struct why *w, const struct why_touch *t, u32 missed);

/* Points that are shown together: at the same place, of the same kind, of the same data. */
struct point_row {
    struct source place;
    const char *kind, *data;
    u64 count[WHY_COUNTS];
};

struct point_rows {
    enum by by;
    VEC(struct point_row) rows;
    VEC(u32) of; /* by point: its row */
};

/* Columns for what a row stands for, and its cells: where the next one is. */
void point_columns(enum by by, const char *prefix, struct table *t);
union cell *point_cells(enum by by, const struct point_row *x, struct result *r, union cell *c);
/* What could be done about misses, as a table. */
void advice_tell(const struct why *w, const struct point_rows *x, struct result *r);

void why_tell(struct why *w, enum by by, struct variables *v, struct sources *s, struct result *r);

static inline u64 why_misses(const u64 *count)
{
    return count[WHY_cold] + count[WHY_capacity] + count[WHY_conflict] + count[WHY_taken];
}

#endif
