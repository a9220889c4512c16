/* SPDX-License-Identifier: MIT */
/* What a processor's caches see of the events: every line of code and of data that is touched, in the order of the program.
 *
 * A touch of the line that was the last one touched in its set is left out where that changes nothing: it hits, and a hit on the latest
 * line leaves a set as it is. So there are far fewer touches than references and instructions. */
#ifndef TOUCHES_H
#define TOUCHES_H

#include "analyze/passes.h"
#include "base/vec.h"
#include "decode/decode.h"

/* The first and last byte decide which lines: id is a reference of the unit table, or, with TOUCH_CODE, an instruction of it; of a
 * piece of a crossing touch, the number of its crossing. Flags are in the upper bits of the size.
 *
 * Where only lines matter (touch_lines.c), a touch is one of a line, with TOUCH_WRITTEN if it writes and that matters, and those of code and of data are apart:
 * `at` tells which came first, and is far below the flags. An event that comes to several lines has as many touches, one behind the other. */
struct touch {
    union {
        u64 address, line;
    };
    u32 id;
    union {
        u32 size, at;
    };
};
/* shape.h's sides; whoever includes this may also know wire.h, whose policies have the same name. */
enum touch_side { TOUCH_OF_CODE, TOUCH_OF_DATA, TOUCH_SIDES };
#define TOUCH_CODE     0x80000000u
#define TOUCH_WRITE    0x80000000u /* only if writes are told from reads */
#define TOUCH_STORE    0x40000000u /* and it reads nothing */
#define TOUCH_CROSSING 0x20000000u
#define TOUCH_SIZE     0x1fffffffu
#define TOUCH_WRITTEN  (1ull << 63) /* of a line, which has 60 bits at most */

/* Addresses have 48 bits here. */
#define ADDRESS_MASK ((1ull << 48) - 1)

/* What a record of an exit touches, in order: an instruction whose line is not the latest of its set anyway, or a reference, whose address is
 * the record's. */
struct touch_step {
    u64 pc; /* 0: a reference */
    u32 id, size;
};

/* The steps of an exit; only of one that was seen, and has no references of special forms: these have as many events as it
 * happens. */
struct touch_script {
    u64 passed; /* its records so far */
    u32 first;
    u32 n : 30, known : 1, plain : 1;
};

/* What touches are for: caches of so many sets, with lines of so many bytes, a power of two. */
struct touch_rule {
    u64 sets;
    u32 line;
    bool every;       /* none may be left out */
    bool every_write; /* ... that writes */
    bool writes;      /* writes are told from reads: then the first one of a line stays */
    bool keeps_four;  /* the four lines of a set that were touched last are there */
};

/* Which line was touched last, for each set of a cache, or for some sets together. */
enum { FILTER_LIMIT = 1024 };
enum filter_kind {
    FILTER_lines,
    FILTER_writes,
    FILTER_any /* which can do all, but takes its time */
};
/* Where in it a line's set is. */
struct touch_places {
    u64 mask;
    u32 log2; /* of a line's size */
};
struct touch_filter {
    enum filter_kind kind;
    u64 line[FILTER_LIMIT]; /* its number; but for FILTER_lines with TOUCH_WRITTEN if it was written */
    struct touch_places places;
    bool every[2]; /* read or write stays */
    bool writes;
};

/* A touch whose lines are of several parts: what they meet is put together when all parts have seen it. */
struct crossing {
    u32 id;
    u32 missed; /* bits; atomic */
};

struct touch_list {
    VEC(struct touch) v;
};

/* The lines of an exit's code. */
struct touch_code {
    u64 passed; /* its records so far */
    u32 first;
    u32 n : 30, known : 1, plain : 1; /* all its references are */
};

/* Whoever makes touches of a unit table, and what they need for that. It is much, and looked at for every record: so whoever was the last
 * to use it should be the next. */
struct touch_maker {
    const struct unit_table *table;
    struct touch_filter code, data;
    struct touch_filter own; /* for a script, of its own code alone */
    VEC(struct touch_script) scripts; /* by exit */
    VEC(struct touch_step) steps;
    struct passes passes; /* of records that no script is for */
    VEC(u64) refs; /* by number in the table: what passes do not tell, of partial records and special forms */
    bool by_line;  /* touches are of lines; then no filter is of FILTER_any, and what follows is made instead of scripts */
    VEC(struct touch_code) codes; /* by exit */
    VEC(struct touch) code_lines; /* theirs */
    VEC(u8) sizes;                /* of references of the table, less 1, and a bit if they write; of those of a batch: */
    u8 size[BATCH_REFS + 64];
    bool has_vectors, keeps_four, ahead_pays;
    u32 batches;
    bool timed;    /* somebody wants to know when; only if touches are not of lines */
};

/* The touches of a stretch. */
struct touches {
    struct touch_maker *maker; /* while they are made */
    VEC(struct touch) list;  /* in order */
    u32 parts, block_log2;   /* the block of an address, modulo parts, is its part */
    struct touch_part {
        struct touch_list list, of[TOUCH_SIDES];
    } *part; /* with several parts, where the lists go */
    struct touch_list lines[TOUCH_SIDES]; /* touches of lines */
    u32 refs;                             /* references so far, if touches are of lines */
    VEC(struct crossing) crossings;
    u64 clock;       /* if timed, instructions that ran */
    VEC(u64) times;  /* and by number in the list: the clock with its own instruction */
};

void touch_maker_init(struct touch_maker *m, const struct unit_table *table, struct touch_rule code, struct touch_rule data);
void touch_maker_fini(struct touch_maker *m);
/* How often each instruction ran and each reference was made: add to arrays as long as the table's. */
void touch_maker_counts(struct touch_maker *m, u64 *insns, u64 *refs);

/* In so many parts, of blocks of so many bytes, a power of two. */
void touches_init(struct touches *t, u32 parts, u32 block);
void touches_fini(struct touches *t);
/* Nothing is known of what came before: another stretch follows. The lists are empty. */
void touches_open(struct touches *t, struct touch_maker *m);
void touches_add(struct touches *t, const struct events *e);
/* The touches of a part, in order. */
const struct touch *touches_of(const struct touches *t, u32 part, size_t *n);
/* The same of lines. */
const struct touch_list *touches_of_lines(const struct touches *t, u32 part, enum touch_side side);
/* Is it of the same event as the one before it? An event's touches of lines follow each other, each with a higher line. Two records without references may
 * have the same places; then its lines begin anew. */
static inline bool touch_goes_on(const struct touch *x, const struct touch *before)
{
    return x->at == before->at && x->id == before->id && x->line > before->line;
}

static inline bool touch_is_before(const struct touch *x, const struct touch *y)
{
    return (x->at & ~TOUCH_CROSSING) < (y->at & ~TOUCH_CROSSING);
}

/* Between touches.c and touch_lines.c. */
/* Whether a touch of a line stays: the latest of its set is another. */
static inline bool touch_is_new(u64 *latest, u64 line)
{
    const bool stays = *latest != line;
    *latest = line;
    return stays;
}

/* The same where writes are told: also if it is the first that writes. */
static inline bool touch_is_new_or_written(u64 *latest, u64 line, bool every)
{
    const u64 before = *latest, differs = before ^ line;
    const bool stays = (differs << (before >> 63) != 0) | every; /* if it was written, whether this writes makes no difference */
    *latest = before ^ (differs & -(u64)stays); /* without a branch, which nobody could foretell */
    return stays;
}

void touch_filter_forget(struct touch_filter *f);
u32 touch_part(const struct touches *t, u64 address);
void touch_lines_add(struct touches *t, const struct events *e);
void touch_lines_deal(struct touches *t);

#endif
