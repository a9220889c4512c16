/* SPDX-License-Identifier: MIT */
/* The translator's door: app bytes in, code in the cache and a unit table out. Ordinary C, one
 * thread, no program needed: a test can run it on plain bytes. */
#ifndef TRANSLATE_H
#define TRANSLATE_H

#include "base/base.h"
#include "base/err.h"
#include "translate/unit.h"
#include "wire/wire.h"

/* The guest's entry points, as addresses in the program; filled from the blob's symbols. */
struct guest_points {
    u64 start;    /* first entry, from the exec stop */
    u64 exit;     /* r11 = exit id */
    u64 gate;     /* r11 = struct gate */
    u64 state;    /* r11 = exit id; a segment base has changed */
    u64 indirect; /* a jump or call missed; its target and the program's r10 are in the thread block
                   */
    u64 landing;  /* the same for a return */
    u64 syscall;  /* rcx = cache address to go on at */
    u64 stale;    /* r11 = struct gate; the unit's bytes are not what they were */
    u64 tell;     /* r11 = struct gate; at a mark of the program or a trigger */
};

/* What may become of code: nothing without our being told, or anything at any moment. */
enum code_kind { CODE_NONE, CODE_STABLE, CODE_VOLATILE };

/* What is at a pc, for partial traces. */
enum spot {
    SPOT_SELECTED = 1, /* SELECT_places: it is recorded */
    SPOT_TELL = 4,     /* the guest wants to know when a thread comes here */
    SPOT_HEAD = 2,     /* a selected function begins; SELECT_scopes: it is recorded with all it calls */
};

struct translate_config {
    /* Copy up to n bytes of the program's code at pc; returns how many could be read. */
    size_t (*fetch)(void *ctx, u64 pc, u8 *buf, size_t n);
    void *ctx;
    /* Which kind of code is at pc; NULL if all of it is stable. */
    enum code_kind (*kind)(void *ctx, u64 pc);
    /* The word at an address, if nobody can change it without our being told; NULL if there are none. */
    bool (*constant)(void *ctx, u64 address, u64 *value);
    /* The word at an address as it is now; false if there is none. */
    bool (*word)(void *ctx, u64 address, u64 *value);
    /* A translation begins: volatile code must be read anew. NULL if there is none. */
    void (*begin)(void *ctx);
    /* What the threads of the program must know; all NULL if there are none.
     * dropped: units are gone; whoever is outside the cache must look for his way anew.
     * settle:  return when nobody fills the jump tables with what he read in the index before.
     * stop:    return when no thread is in the cache, and let none in; false if one does not leave.
     * go:      let them in again. */
    void (*dropped)(void *ctx);
    void (*settle)(void *ctx);
    bool (*stop)(void *ctx);
    void (*go)(void *ctx);
    u8 *wire; /* our mapping of the shared pages, WIRE_SIZE bytes */
    u64 base; /* where the program maps them */
    u64 jump; /* where the program maps the jump tables, below 2 GB */
    struct guest_points guest;
    enum events_level events;
    enum selection selection;
    u32 novel; /* SELECT_places: how often selected code is recorded, at most UINT8_MAX; 0: always */
    u32 linger; /* how many familiar units are recorded behind a new one */
    bool has_budget; /* threads may be silenced within a function that is recorded: quiet units note its return, too */
    /* What is at pc, enum spot; asked unless all is selected. */
    u32 (*spot)(void *ctx, u64 pc);
    bool no_link;   /* stress: every exit asks */
    bool no_ahead;  /* stress: translate only what is asked for */
    bool all_gates; /* stress: no link goes behind a gate */
    bool older;     /* emit what runs on every processor */
    bool stay;      /* the record pointer stays in r11, also in units that name r11 */
    bool strict;    /* returns are jumps: no cache address is ever written to the program's stack */
    u32 cache_size; /* how much of the cache to use; 0 for all of it */
    u32 exit_limit; /* the most exits that are numbered; 0 for the default */
    u32 unit_insns; /* the most instructions in a unit; 0 for the default */
    u32 unit_blocks; /* the most conditional branches passed in a unit; 0 for the default */
};

struct translate_stats {
    u64 hot, settled, dropped, changed, flushes, units, insns, app_bytes, cache_bytes, ahead, doors, links;
};

struct translator;

struct translator *translator_new(const struct translate_config *config);
/* Make it one for another program, as if it were new: but for its memory, and what it has learned of instructions. A short process would spend a good part of its
 * life on these. */
void translator_renew(struct translator *t, const struct translate_config *config);
void translator_free(struct translator *t);

/* How the program came to a pc: that decides which entry it needs next time. */
enum arrival { BY_LINK, BY_JUMP, BY_RETURN };

/* Return where the unit at pc (with PC_QUIET: its quiet version) starts, translating it if need be, with an entry for its kind of
 * arrival in the tables. 0 with a sentence if it cannot be translated. */
struct cache_pc translate_pc(struct translator *t, struct app_pc pc, enum arrival by,
                             struct err *e);
/* The same for what an exit leads to; links the exit. The exit id comes from the program: it is
 * checked. */
struct cache_pc translate_exit(struct translator *t, u32 exit_id, struct err *e);
/* The same for a volatile unit that found itself changed, or the stack pointer too near to it: it is
 * translated anew from the bytes that are there now. */
struct cache_pc translate_changed(struct translator *t, struct app_pc pc, u64 rsp, struct err *e);
/* The code in the pages of start .. end - 1 is gone or changed: forget what depends on it, so that
 * whoever comes there next asks again. The units' numbers stay, for the records that name them. */
void translate_drop(struct translator *t, u64 start, u64 end);
/* From here on, and in place of all that was watched before: whoever comes to these heads of functions stores what they are given, and what
 * they return. What is translated already stays as it is. */
struct watched {
    u64 pc;
    enum watch kind;
};
void translate_watch(struct translator *t, const struct watched *heads, size_t n);
/* What a fault in the cache means to the program. */
struct fault {
    u64 pc;   /* the instruction */
    u32 unit; /* and what was recorded up to it: */
    u16 insns, refs, slots;
    bool r10_saved;   /* the program's r10 is in the thread block */
    bool record_done; /* the record is written and the pointer behind it */
    bool is_check;    /* the code cannot even be read: the program has not come to it */
    bool is_return;   /* not the program's fault: its return goes on at the target in the block */
    u8 trap_len;      /* of an instruction that may trap, which is reported behind it; else 0 */
    u8 n_loans, loan[4]; /* registers whose values are in the spill slots */
    u8 pointer; /* the register that holds the record pointer; if not r11, its value is in `lent`, and r11 is the program's */
    struct rep_fault {
        u8 refs;   /* of a rep instruction, 0 if it is none */
        u8 count;  /* slot of the count before it */
        u8 n_last; /* slots that it would have stored behind itself, from these registers */
        struct last_slot {
            u8 slot, reg;
        } last[2];
    } rep;
};
/* Look up a cache address; false if no instruction of the program runs there. */
bool translate_fault(const struct translator *t, u64 cache_pc, struct fault *f);
/* Forget all units, and begin anew with an empty cache; false with a sentence if that cannot be. Done
 * whenever the cache is full. */
bool translate_flush(struct translator *t, struct err *e);
/* Translate one unit that will probably be asked for; false if there is none. */
bool translate_ahead(struct translator *t);

/* A path that was taken often, as the ids of the exits that were passed, one after the other: make it one unit, which takes
 * the place of the first. False if it cannot be, or would be no longer. */
enum { HOT_EXITS = 64, HOT_INSNS = 240 };
bool translate_hot(struct translator *t, const u32 *exit_ids, u32 n);
/* Make one quiet unit anew whose code has become familiar, so that it no longer looks whether it has; false if there is none among those not yet
 * looked at. `again`: look at all. */
bool translate_settle(struct translator *t, bool again);
/* Make one unit anew whose jump has been bound since it was made; false if there is none. */
bool translate_bound(struct translator *t);

/* Which bits of a target index the jump tables; the threads' own grow with it. */
u64 translator_jump_mask(const struct translator *t);
/* Is there no room for any other unit, and never will be? */
bool translator_is_full(const struct translator *t);
const struct unit_table *translator_table(const struct translator *t);
struct translate_stats translator_stats(const struct translator *t);

#endif
