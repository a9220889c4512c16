/* SPDX-License-Identifier: MIT */
/* A column: a sequence of numbers, kept and stored as nested runs of differences.
 *
 *     8 16 24 100 108 116 200 208 216    differences  8 8 8 76 8 8 84 8 8
 *                                        runs         8x3, 76, 8x2, 84, 8x2
 *
 * A run of equal differences is the (start, count, stride) of regular section descriptors; runs that come back in the
 * same order are folded into a loop around them, and loops into loops, so that an affine loop nest takes as many
 * entries as it has levels, however long it runs. What is irregular stays a list of differences. A plain column
 * keeps the numbers themselves in place of differences: for codes, whose differences mean nothing.
 *
 * docs/trace-format.md says how a column stands in a file. */
#ifndef COLUMN_H
#define COLUMN_H

#include "base/arena.h"
#include "base/base.h"
#include "base/number.h"
#include "store/store.h"

/* An entry: a difference, `count` times; or, if `body` is not 0, a loop: the next `body` entries, `count` times. */
struct column_run {
    u64 step; /* of a loop: how deep loops are nested in it, itself included */
    u32 count;
    u32 body;
};

/* -- Making ------------------------------------------------------------------------------------ */

/* Columns of a regular program stay below so many bytes together, however long it runs. Where they are more, single ones may still be regular, but folding
 * them takes ten times as long as what zstd does with what comes back, and there is no end to be made small. */
enum { COLUMNS_REGULAR = 1 << 20 };

/* What columns that are made and stored together share. */
struct columns {
    struct arena arena;
    u64 n_bytes; /* of entries that will not become fewer, about */
    struct store_bytes scratch;
};

/* Bytes that will stand in the file as they are. */
struct column_part {
    struct column_part *next;
    size_t n;
    const u8 *bytes;
};

/* Entries become bytes at once, as they will stand in the file: most columns are irregular, and stay so. Of those that come back,
 * runs are made again now and then, and folded. */
struct column {
    u8 *at, *end;            /* where the next entry goes, and where there is no more room */
    u64 last;                /* the latest number; 0 in a plain column */
    u64 step;                /* of the open run */
    u32 count;               /* of the open run; 0 only at the very beginning */
    bool settled;            /* nothing more is to be folded */
    u8 *bytes;               /* the first that is neither in a run nor in a part */
    struct column_run *runs; /* what was before, if it was folded */
    u32 n_runs, cap;
    struct column_part *parts, *last_part; /* what was before that, oldest first */
};

/* Make room for an entry: fold, or take more memory. */
void column_make_room(struct columns *s, struct column *c);
/* An entry that takes more than a few bytes. */
u8 *column_put_run(u8 *p, const struct column_run *r);
/* It takes no more numbers then. How many bytes it will be in a file. */
size_t column_finish(struct columns *s, struct column *c);
/* Append a finished column to bytes as it stands in a file. */
void column_store(const struct column *c, struct store_bytes *to);
/* Finish and store, behind a number that says how many bytes it has. */
void column_store_sized(struct columns *s, struct column *c, struct store_bytes *to);
/* There are none any more, but for the memory. */
void columns_clear(struct columns *s);
void columns_fini(struct columns *s);

enum { COLUMN_TAG_BITS = 2, COLUMN_LONGEST = 20 /* bytes of an entry */ };

/* Append an entry. */
static inline void column_put_entry(struct columns *s, struct column *c, u64 step, u32 count)
{
    u64 x = zigzag(step);
    if (c->end - c->at < COLUMN_LONGEST)
        column_make_room(s, c);
    if (count == 1 && x < 1ull << (NUMBER_QUICK_BITS - COLUMN_TAG_BITS))
        c->at = number_put_quick(c->at, x << COLUMN_TAG_BITS);
    else
        c->at = column_put_run(c->at, &(struct column_run){.step = step, .count = count});
}

/* A number for a plain column; at most 2^32 - 1 of them. */
static inline void column_put_plain(struct columns *s, struct column *c, u64 number)
{
    if (number != c->step) {
        if (c->count)
            column_put_entry(s, c, c->step, c->count);
        c->step = number;
        c->count = 0;
    }
    c->count++;
}

static inline void column_put(struct columns *s, struct column *c, u64 number)
{
    u64 last = c->last;
    c->last = number;
    column_put_plain(s, c, number - last);
}

/* Append a number as base/number.h has it. */
void bytes_put_number(struct store_bytes *b, u64 number);

/* -- Reading ----------------------------------------------------------------------------------- */

enum { COLUMN_DEPTH = 12 /* loops in loops */ };

/* A loop that is being walked. */
struct column_level {
    const u8 *body;
    u32 entries; /* in the body */
    u32 left;    /* of them, in this round */
    u32 rounds;  /* this one included */
};

struct column_reader {
    u64 last, step;
    const u8 *at, *end;
    struct column_level *levels; /* NULL while there was no loop */
    u32 left;                    /* numbers of the current run */
    u8 depth;
    bool plain;
    bool refused; /* the bytes are not a column */
};

/* Begin with a stored column. The bytes must stay. */
void column_reader_init(struct column_reader *r, const u8 *bytes, size_t size, bool plain);
/* The same with what column_store_sized wrote at *at, which is left behind it; false if it is not all there. */
bool column_reader_sized(struct column_reader *r, const u8 **at, const u8 *end, bool plain);
/* Find the next run; false if there is none or the bytes are not a column. */
bool column_refill(struct column_reader *r, struct arena *a);
/* Is nothing left? */
bool column_is_spent(const struct column_reader *r);

/* The next n numbers of a column that is not plain; false if it has fewer. */
bool column_get_all(struct column_reader *r, struct arena *a, u64 *numbers, u32 n);

/* The next number; false as column_refill. The arena is where loops keep their place. */
static inline bool column_get(struct column_reader *r, struct arena *a, u64 *number)
{
    if (!r->left && !column_refill(r, a))
        return false;
    r->left--;
    u64 x = r->last + r->step;
    *number = x;
    r->last = r->plain ? 0 : x;
    return true;
}

#endif
