/* SPDX-License-Identifier: MIT */
/* Records of one unit on their way to its columns. They wait until there are some, and go there together: column by column that takes a fraction of what
 * it takes record by record. */
#ifndef ROWS_H
#define ROWS_H

#include "base/base.h"
#include "base/vec.h"
#include "store/column.h"

/* Where the slots of a unit share columns: the slots by their columns; for each column and number of slots in a row, how many of these are the
 * column's. NULL where each has its own. */
struct pack_shares {
    const u8 *order, *in_row;
};

enum {
    ROWS_MOST = 64,  /* records that wait together */
    ROWS_COPIED = 8, /* there is room for so many slots behind the last row */
};

struct pack_rows {
    u8 lengths[ROWS_MOST]; /* slots of each; they stand as far apart as the longest needs */
    u64 slots[];
};

/* The columns of one unit, or of a kind of guest record. */
struct pack_group {
    u32 number; /* the id of a guest record, or FIRST_EXIT_ID + unit */
    u32 n;
    u32 slots; /* of its longest record */
    u32 room;  /* records that may wait */
    struct pack_rows *rows; /* they do so here: */
    u32 n_rows;             /* so many, */
    u64 *next;              /* and the next one's slots go here */
    struct pack_shares shares;
    struct column columns[];
};

/* What is needed to put rows. */
struct rows_hand {
    struct columns shared;
    VEC(u64) numbers; /* of some rows, by columns */
    bool scalar;      /* no vector instructions */
};

/* Room for so many rows; there must be none. */
void rows_begin(struct rows_hand *h, struct pack_group *g, u32 room);
/* They are in the columns then, and there are none. */
void rows_put(struct rows_hand *h, struct pack_group *g);
void rows_hand_fini(struct rows_hand *h);

#endif
