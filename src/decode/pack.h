/* SPDX-License-Identifier: MIT */
/* Records to columns and back: the contents of a records chunk. docs/trace-format.md is normative.
 *
 * The ids of the records are one sequence, coded by what followed the same three ids before; the slots are one column
 * for each slot of each unit, or for the same slot of several rounds of a loop (store/column.h). What is packed is the records of one thread, and unpacks alone. */
#ifndef PACK_H
#define PACK_H

#include "base/arena.h"
#include "base/base.h"
#include "base/err.h"
#include "base/vec.h"
#include "decode/rows.h"
#include "store/column.h"
#include "translate/unit.h"

/* What stands at the head of the contents. */
struct pack_head {
    u64 records, instructions;
    u64 bytes;       /* of the records, unpacked */
    u64 began, last; /* time stamps: of the first record, the latest */
};

/* The exits that followed another one, in the order in which they were first seen. */
enum { PACK_WAYS = 8 };
struct pack_ways {
    u32 id[PACK_WAYS];
};

/* What was seen of the sequence of ids. Both sides keep it alike. */
enum { PACK_FOLLOW_BITS = 16 };
struct pack_context {
    struct pack_before {
        u32 id[3]; /* the latest first */
    } before;
    /* By the hash of `before`: what came next when it last did not come as foreseen. */
    u32 follow[1 << PACK_FOLLOW_BITS];
    VEC(struct pack_ways) ways;
};

/* -- Packing ----------------------------------------------------------------------------------- */

/* What packing needs to know of an id. */
struct pack_exit {
    struct pack_group *group; /* NULL if the id was not seen yet */
    s64 rsp_disp;
    s32 rsp_at; /* where the slot is that rsp comes from, in bytes behind the header */
    u16 insns;
    u8 slots;
    u8 rsp_is;  /* enum pack_rsp */
    bool plain; /* what follows it needs no state record */
};

enum { PACK_LIMIT = 40 << 20 };

struct pack {
    const struct unit_table *table;
    u64 limit; /* about so many bytes, before they are compressed, are enough; PACK_LIMIT if nobody says otherwise */
    struct pack_head head;
    struct rows_hand hand;
    VEC(struct pack_group *) groups;
    VEC(struct pack_exit) exits; /* by id */
    VEC(u32) ids;                /* of the records that are not in `runs` and `codes` yet */
    VEC(u32) ways;               /* by id: its place in the context, + 1; 0 if it has none yet */
    struct column runs, codes;   /* the sequence of ids */
    struct column lengths;       /* slots of records whose id does not tell */
    u64 run;                     /* ids that came as foreseen since the last that did not */
    u64 rsp, fs, gs;             /* as the decoder would carry them */
    bool dropping; /* rsp and its like are known, and nothing asks for a state record */
    struct pack_context *context;
};

/* The table may grow while records that use it are packed, but its arrays must not move. */
struct pack *pack_new(const struct unit_table *t);
/* No vector instructions. Before the first records. */
void pack_scalar(struct pack *p);
/* Take a buffer of records, which begins with a state record. State records that only begin a buffer are dropped. With
 * -1, the records before the fault are packed. */
int pack_records(struct pack *p, const u8 *data, size_t size, struct err *e);
/* Is it time to store? */
bool pack_is_full(const struct pack *p);
/* Append the contents of a chunk to bytes. Only pack_clear or pack_free remains to be called then. */
void pack_store(struct pack *p, struct store_bytes *to);
/* Make it as it was when it was new, but for its limit and its memory. */
void pack_clear(struct pack *p);
void pack_free(struct pack *p);

/* -- Unpacking --------------------------------------------------------------------------------- */

struct unpack_exit {
    u32 group; /* + 1; 0 if the id was not seen yet */
    u32 slots;
};

struct unpack_group {
    u32 number; /* as in struct pack_group */
    u32 column, n;
    u32 slots; /* of the longest record; 0 if none was seen yet */
    struct pack_shares shares;
    /* Records whose slots are to be filled in: where these are, << 8 | how many. */
    u32 *rows;
    u32 n_rows, room;
    u32 least; /* slots that all of them have */
};

enum { UNPACK_IDS = 1024 };

struct unpack {
    const struct unit_table *table;
    u32 n_exits;
    struct pack_head head;
    u64 done; /* records given out */
    struct arena arena;
    VEC(struct column_reader) columns;
    VEC(struct unpack_group) groups;
    u32 *group_of; /* by group number: which it is, + 1 */
    struct unpack_exit *exits;
    u32 *ways; /* as in struct pack */
    struct column_reader runs, codes, lengths;
    u64 run;                             /* ids that come as foreseen before one that does not */
    u32 ids[UNPACK_IDS], n_ids, next_id; /* of the next records */
    struct pack_context *context;
    VEC(u32) touched; /* groups that have rows */
    VEC(u64) numbers; /* of one column, for its rows */
};

/* Read the head alone. */
const char *unpack_head(const u8 *bytes, size_t size, struct pack_head *head);
/* Begin to unpack contents whose exits are the first n_exits of the table. The bytes must stay. NULL, or what is wrong. */
const char *unpack_begin(struct unpack *u, const struct unit_table *t, u32 n_exits, const u8 *bytes,
                         size_t size);
/* Put as many whole records to `to` as there is room for (less than 16 MB), at least one if RECORD_LIMIT bytes are. Returns
 * the bytes put, 0 at the end, or -1 with *fault set. */
s64 unpack_some(struct unpack *u, u8 *to, size_t room, const char **fault);
void unpack_end(struct unpack *u);

enum { RECORD_LIMIT = 4 + 8 * 255 };

#endif
