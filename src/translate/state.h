/* SPDX-License-Identifier: MIT */
/* The translator's own state, shared by its files. Private to this room. */
#ifndef STATE_H
#define STATE_H

#include "translate/emit.h"
#include "translate/insn.h"
#include "translate/mould.h"
#include "translate/places.h"
#include "translate/rewrite.h"
#include "translate/symbolic.h"
#include "translate/translate.h"

/* Where an exit's jump can be patched, and where it leads while it is not linked. */
struct link {
    u32 site; /* cache offset of the rel32; 0 if the exit has none */
    u32 stub; /* cache offset of the code that asks the host */
    u32 next; /* among the exits that lead to the same place: exit number + 1, 0 at the ends */
    u32 prev;
    u32 pad;     /* of the exit behind a call: cache offset of its landing pad */
    bool listed; /* it is among them */
    bool linked;
    bool crosses; /* it leads to the other version of its unit */
};

/* What a unit may hold at most; and how many instructions one that is not hot does. */
enum { UNIT_INSNS = HOT_INSNS, UNIT_EXITS = 64, UNIT_SLOTS = 120, UNIT_REFS = 512 };
enum { COLD_INSNS = 64, VOLATILE_INSNS = 24 };
enum { ADDRESS_BITS = 56 }; /* no program has code beyond */

/* A real call whose target is still to be emitted. */
struct call_site {
    u8 *field;     /* its rel32, in our mapping */
    u64 return_pc; /* what the program pushes */
    u32 exit;      /* of a direct call: the exit to link */
    bool direct;
    bool quiet;
};

/* An entry of the jump tables that leads to a dropped unit. */
struct gone {
    u64 at;
    u64 address;
};

enum { CALL_SIZE = 5 };

/* How many units may follow one another without a jump. */
enum { CHAIN_LIMIT = 4 };

/* Where an instruction of the program runs, and what the program's state is if it faults there. The
 * program never sees these; translate_fault reads them. */
struct mark {
    u32 at; /* cache offset: up to the next mark */
    u32 unit;
    u8 insn;
    u8 slots;   /* stored before it */
    u8 flags;   /* MARK_* */
    u8 n_loans; /* registers that are in the spill slots, in this order */
    u8 loan[4];
    u8 pointer; /* the register that holds the record pointer */
};
enum {
    MARK_R10 = 1,    /* the program's r10 is in the thread block */
    MARK_DONE = 2,   /* the record is already written */
    MARK_RETURN = 4, /* the return slot is written, for us */
    MARK_AFTER = 8,  /* a trap: reported behind the instruction */
    MARK_CHECK = 32, /* the check of volatile code: it is not there to be read */
    MARK_HEAD = 16,  /* nothing of the program runs here */
};
enum { UNIT_MARKS = 8 * UNIT_INSNS + 4 };

/* A call whose callee is in the path: where it pushed its return address, relative to what terms, and whether something
 * may have overwritten it since. */
struct frame {
    struct value at;
    bool overwritten;
};
enum { FRAME_LIMIT = 16 };

/* One unit in the making. */
struct builder {
    struct translator *t;
    struct err *err;
    u64 pc;
    bool quiet; /* it records nothing */
    u32 count;  /* offset in the shared pages of how often its code is yet to be recorded; 0: always */
    bool is_familiar; /* no more */
    struct insn insn[UNIT_INSNS];
    u32 n_insns;
    bool falls_off; /* the path ends without a branch: leave to `next` */
    u64 next;       /* pc after the path's last instruction, in path order */

    struct values values;
    struct ref ref[UNIT_REFS];
    u32 n_refs;
    struct unit_exit exit[UNIT_EXITS];
    struct link link[UNIT_EXITS];
    u32 n_exits;
    u32 exit0; /* what the first of them will be in the table */
    u32 n_slots;
    struct mark mark[UNIT_MARKS];
    u32 n_marks;
    u32 failed; /* the instruction that could not be emitted */
    u8 insn_refs[UNIT_INSNS];
    u8 insn_watch[UNIT_INSNS], insn_slot[UNIT_INSNS];
    bool is_hot; /* see hot.c */
    struct frame frame[FRAME_LIMIT];
    u32 n_frames;
    u32 pad;    /* cache offset of the landing pad behind a call, 0 if the unit has none */
    u64 pad_pc; /* and the app pc it stands for */
    u8 pointer; /* the register that holds the record pointer: r11, or one that the unit does not name */
    u8 r11_in; /* the register that holds the program's r11 during the current instruction, if that is not r11 itself */
    struct emit *e;
    u32 inner;             /* cache offset behind the gate */
    bool aside;            /* who runs on into it needs no gate: that is out of line */
    bool is_line;          /* see body.c */
    struct call_site call; /* of a unit that ends in a call; field is NULL if it does not */
    u32 adjacent;          /* exit + 1 that runs on into the code emitted next, 0 if none */
    u32 chain;             /* how many units may still follow this one without a jump */
    bool is_large;         /* it stores more than a buffer has room for behind a gate that was not passed */
    bool is_volatile;      /* see volatile.c */
    bool careful;          /* a store to the stack may change the code as well */
    bool stack_stores;     /* the unit holds, if the stack is not near it */
};

/* Units by what they are; see numbers.c. */
struct number {
    u32 hash;
    u32 unit; /* number + 1; 0 is free */
};
struct numbers {
    struct number *v;
    u32 n, cap; /* n: how many units of the table are in it; cap is a power of two */
};

/* Code that is recorded while it is new; see novel.c. */
struct novelty {
    struct novel {
        u64 pc; /* 0 is free */
        u32 i;  /* of its count */
    } * v;
    u32 cap; /* a power of two */
    struct counted {
        u64 pc;
        bool settled; /* it is familiar, and its quiet unit is made so */
    } * counted;
    u32 n, next; /* how many there are; which is to be looked at next */
};

/* An instruction that need not be decoded again. */
struct decoded {
    u32 age; /* it holds while this is the translator's */
    struct insn insn;
};
enum { DECODED = 1024 };

/* An entry of a procedure linkage table that the program has had bound, or is about to. */
struct binding {
    u64 pc, address, word; /* the entry; where its word is, and what that was */
    u32 tries;             /* how often nothing else was there */
};

struct translator {
    struct translate_config config;
    struct decoded *decoded;
    struct moulds *moulds;
    u32 age; /* raised when code may have changed, or is another program's */
    struct unit_table table;
    struct link *links; /* one for each exit; those of units that are gone mean nothing */
    bool *quiet;        /* for each unit */
    u32 *below;         /* for each unit, the one (number + 1) that it has taken the place of */
    struct numbers numbers;
    struct novelty novelty;
    VEC(struct mark) marks; /* of the units since the last flush, ascending */
    struct places places;
    struct pages pages; /* which units depend on which pages of the program */
    VEC(struct watched) watched; /* ascending; see watch.c */
    VEC(struct binding) bindings;
    VEC(u64) looked;    /* pages that decided how the unit in the making is translated */
    VEC(struct gone) gone;
    u64 jump_mask;    /* which bits of a target index the jump tables; grows */
    u64 cache;        /* the program's address of the cache */
    struct emit hot;  /* unit bodies, growing up from the start of the cache */
    struct emit warm; /* ways out of their middles, which are taken now and then: close together, so that few lines and pages are needed */
    struct emit cold; /* what is needed once, or never */
    u32 warm_at, cold_at; /* cache offsets of these */
    u8 *hot_ready, *warm_ready, *cold_ready; /* up to where their pages are there */
    struct {
        size_t units, insns, refs, exits, code, links, marks;
    } ready; /* the same of arrays, in bytes */
    VEC(u64) ahead;   /* pcs that will probably be asked for, oldest first */
    size_t ahead_next;
    u32 ahead_budget; /* how many more to translate before the next request */
    struct translate_stats stats;
    bool has_bmi2, has_avx512bw, has_quick_loop;
    bool is_full;           /* nothing more can be translated, ever */
    struct builder builder; /* the unit in the making */
    struct chained {
        u32 unit;
        u32 pad;
        u64 pad_pc;
        struct call_site call;
    } chained[CHAIN_LIMIT + 1]; /* units emitted and not yet reachable */
    u32 n_chained;
};

/* Where a pc's version is among the places. */
static inline u64 place_key(u64 pc, bool quiet)
{
    return pc | (quiet ? PC_QUIET : 0);
}

/* path.c: choose the instructions of a unit; false if there is not even one. */
bool path_form(struct builder *b);
/* Is this a stub that only jumps on, as in the procedure linkage table? */
bool path_is_trampoline(struct translator *t, u64 pc);
/* Which of the arithmetic flags in `mask` may be read before they are written, starting at pc. */
u32 flags_live_at(struct translator *t, u64 pc, u32 mask);
/* The same at the head of a formed unit. */
u32 flags_live_in(struct builder *b);

/* The most slots that an instruction can need. */
u32 path_slots(const struct builder *b, const struct insn *in);
/* The instruction at pc, which is not part of the unit, but decides what it is: it will depend on these bytes. NULL if it may change at any
 * moment. */
const struct insn *path_look(struct translator *t, u64 pc);
void path_look_page(struct translator *t, u64 page);
/* The instruction at pc as it is now, until the next call; NULL if there is none. */
const struct insn *path_decode(struct translator *t, u64 pc);
/* Make it the next of the path; false if there is none. */
bool path_take(struct builder *b, u64 pc);
/* The pc after instruction i, in path order. */
u64 path_way_on(const struct builder *b, u32 i);

/* Where nothing is recorded the limit is the mask of indirect branches, too: while it is closed, all of them lead to the guest. */
static inline bool masks_gate(const struct translator *t)
{
    return t->has_bmi2 && t->config.events == EVENTS_none && !t->config.selection && !t->config.all_gates;
}

/* linkage.c: what is known of where a jump through a word leads. */
enum linkage {
    LINKAGE_none,
    LINKAGE_constant, /* there, and nobody can change that without our being told */
    LINKAGE_bound,    /* there now */
    LINKAGE_unbound,  /* to whoever finds out */
};
enum linkage linkage_of(struct translator *t, const struct insn *in, u64 *target);
/* Is it a constant, or bound? */
bool linkage_goes_on(struct translator *t, const struct insn *in, u64 *target);
/* Such a jump, instruction i, in the middle of a path. */
bool linkage_emit(struct builder *b, u32 i);
/* The program has come to pc by an indirect jump: is it on the way to have an entry bound? */
void linkage_arrive(struct translator *t, u64 pc);
/* The next entry that has been bound since, as its pc; 0 if there is none. */
u64 linkage_next(struct translator *t);

/* hot.c: the path that was taken through these exits, one after the other, as far as it can be one unit; false if that is
 * no longer than the first of them. */
bool hot_path(struct builder *b, const u32 *exits, u32 n);
/* End the path where it would leave a call open, or return from one that is not in it. */
void hot_trim(struct builder *b);
/* Note what instruction i may do to the return addresses on the path; before it is emitted. */
void hot_stores(struct builder *b, u32 i);
/* The way out of a unit with open calls: let the processor remember as many as the program will return from. */
void hot_balance(struct builder *b, struct emit *e);
/* A call, return or indirect jump in the middle of the path. */
bool hot_branch(struct builder *b, u32 i);

/* slots.c: make an instruction's references computable, storing registers where they are not. */
bool slots_before(struct builder *b, u32 i);
void slots_after(struct builder *b, u32 i);
void slots_settle_rsp(struct builder *b);
/* The register that holds the program's value of reg now. */
u8 slots_holder(const struct builder *b, u8 reg);
/* Store a register, or a vector or mask register, into new slots; the first. Legacy SSE code must not meet a VEX instruction. */
u8 slots_register(struct builder *b, u8 reg);
u8 slots_vector(struct builder *b, ZydisRegister r, bool legacy);
/* s := the effective address of an access. */
void slots_effective(struct builder *b, const struct access *a, u8 s);

/* watch.c: what is to be stored before instruction i besides; store it. */
u8 watch_at(const struct builder *b, u32 i);
bool watch_emit(struct builder *b, u32 i);

/* numbers.c: the unit (number + 1) that the path of this one had before, 0 if none; and, once it is emitted, whether it is
 * the same in every respect. */
u32 numbers_find(struct builder *b);
bool numbers_hold(struct builder *b, u32 unit);

/* novel.c: where the count of the code at pc is in the shared pages; 0 if there is no room for one. */
u32 novel_count(struct translator *t, u64 pc);
bool novel_is_familiar(const struct translator *t, u64 pc);
/* What the unit consists of is gone or changed: what comes there is new. */
void novel_forget(struct translator *t, u32 unit);
/* The same where there may be no units of it, after a flush; and of all that may change without our being told. */
void novel_forget_range(struct translator *t, u64 start, u64 end);
void novel_forget_volatile(struct translator *t);
/* The next code that has become familiar, as its pc; 0 if there is none. */
u64 novel_next(struct translator *t);
void novel_fini(struct translator *t);

/* versions.c: a unit is begun at b->pc. */
void version_begin(struct builder *b);
/* Must a path that has begun end before this pc? */
bool version_parts(const struct builder *b, u64 pc);
/* Must the guest be told when a thread comes to this instruction? */
bool version_tells(const struct builder *b, const struct insn *in);
/* Is the unit nothing but the way to its quiet version? */
bool version_is_crossing(const struct builder *b);
/* Does it look whether its code is familiar by now, though it is quiet? */
bool version_asks(const struct builder *b);
/* Behind the gate: the way to the other version, if there is one here. */
void version_head(struct builder *b);
/* The target of a return or indirect jump is in r10, its record is written: does the function that is being recorded end here?
 * Emits the test; the field of its jump, NULL if there is none. Then what it leads to, up to where r10 is looked up among the quiet. */
u8 *version_leave_test(struct builder *b, bool is_return);
void version_leave(struct builder *b, u8 *field);

/* exits.c: does the unit write records; does it tell of memory in them, and of what is in memory; is there a record pointer? */
bool exit_records(const struct builder *b);
bool exit_tells_memory(const struct builder *b);
bool exit_tells_values(const struct builder *b);
bool exit_has_pointer(const struct builder *b);
/* Is r11 not the program's here? */
bool exit_takes_r11(const struct builder *b);
s32 exit_record_size(const struct builder *b);
/* Note an exit after the first n instructions; rsp must be settled. Its number within the unit. */
u32 exit_add(struct builder *b, u32 n, enum exit_kind kind, u64 target);
void exit_ask(struct builder *b, struct emit *e, u32 k, u64 guest);
u32 exit_ask_stub(struct builder *b, u32 k);
void exit_header(struct builder *b, struct emit *e, u32 k, s32 disp);
void exit_advance(struct builder *b, struct emit *e);
void exit_jmp(struct builder *b, struct emit *e, u32 k);
void exit_jcc(struct builder *b, u8 cc, u32 k);
void exit_way_on(struct builder *b, u32 k);
void exit_direct(struct builder *b, u32 n, u64 target);
/* Give the adjacent exit of a committed unit the jump it was spared. */
void exit_late_jump(struct translator *t, u32 exit);

/* Borrowed registers for one instruction, put back after it. */
enum { LOAN_LIMIT = 4 };
struct loan {
    u8 reg[LOAN_LIMIT];
    u8 n;
};
/* plain.c */
u8 loan_take(struct builder *b, const struct insn *in, struct loan *l, bool stands_in);
/* The same; not one of those that could stand in. There are always two of these. */
u8 loan_take_high(struct builder *b, const struct insn *in, struct loan *l);
void loan_return(struct builder *b, const struct loan *l);
/* Put back the n latest, before the instruction. */
void loan_return_last(struct builder *b, struct loan *l, u32 n);

/* copies.c: what copies_after has to know. */
struct copies {
    int first; /* the first access whose value is taken behind the instruction, -1 if there is none */
    u8 s, t;   /* borrowed registers: its address, or something else; spoilt */
};
/* The most slots that an instruction's values take. */
u32 copies_slots(const struct builder *b, const struct insn *in);
/* Store what an instruction reads and writes: behind slots_before, with room for so many loans more; and behind the instruction. */
void copies_before(struct builder *b, u32 i, struct loan *l, u32 reserved, struct copies *c);
void copies_after(struct builder *b, u32 i, struct loan *l, const struct copies *c);
/* The same for what an indirect branch or a return has read: it is in r10. */
void copies_target(struct builder *b, u32 i);

bool plain_is_near(const struct builder *b, u64 target);
bool plain_refuse(struct builder *b, const struct insn *in);
bool plain_enter_gs(struct builder *b, const struct insn *in, struct loan *l);
void plain_leave_gs(struct builder *b, const struct loan *l);
bool plain_emit(struct builder *b, u32 i);
void plain_gsbase(struct builder *b, const struct insn *in);
bool plain_writes_gs(const struct insn *in);
bool plain_gs_selector(struct builder *b, u32 i);

/* faults.c: from here on it is instruction i that can fault. */
void mark(struct builder *b, u32 i, u8 flags);
/* From here on only the first n of its registers are borrowed. */
void mark_again(struct builder *b, u8 n_loans);

/* branch.c */
/* r10 := where an indirect jump or call goes; the program's r10 is in the thread block. */
bool branch_load_target(struct builder *b, u32 i);
bool branch_jmp(struct builder *b, u32 i);
/* Go to the unit of what is in r10 and in the thread block. */
void branch_table_jmp(struct builder *b, struct emit *e);
bool branch_ret(struct builder *b, u32 i);
bool branch_call(struct builder *b, u32 i);
/* The way to the callee of a call, behind the chain that the call is in. */
void branch_call_stub(struct translator *t, const struct call_site *c);
/* An entry for indirect branches to pc: verify the target and restore; the caller adds the jump to
 * the unit. Returns its cache offset. */
u32 branch_door(struct translator *t, struct emit *e, u64 pc, enum arrival by);

/* body.c: the way out to the guest, before the unit has done anything; then it goes on at the entry, or, once this is noted, behind
 * what has been emitted up to there. */
void body_head_exit(struct builder *b, u64 entry, u64 guest);
void body_note_inner(struct builder *b);
/* Emit a formed unit; the entry's cache offset. The exit noted in b->adjacent has no jump:
 * what it leads to must be emitted next, or exit_late_jump be called. */
bool body_emit(struct builder *b, u32 *entry);
/* Keep the flags in a register; what follows may change them. Put them back. */
void body_save_flags(struct emit *e);
void body_restore_flags(struct emit *e);

/* link.c */
/* Where an exit leads, as a key of the places; 0 if that is not known. */
u64 link_key(const struct translator *t, u32 exit);
u32 cache_offset(const struct translator *t, u64 cache_address);
struct link *link_of(struct translator *t, u32 exit);
/* Note where an exit leads, and link it if that is translated. */
void link_exit(struct translator *t, u32 exit);
/* Send it back to its stub, for good: its unit is going. */
void link_forget(struct translator *t, u32 exit);
/* The same for all, when there is no code any more. */
void links_forget(struct translator *t);
/* Link all exits that lead to a place that is translated now, or otherwise, or is no more. */
void link_place(struct translator *t, const struct place *p);
/* Whoever comes to the head of the unit at `from` goes on to `to` instead. */
void link_head(struct translator *t, u32 from, u32 to);
/* Fill the jump tables; they grow by themselves. */
void jump_begin(struct translator *t);
void publish(struct translator *t, struct place *p);
/* Take back what publish told the program: the index at once, the jump tables in unpublish_end, when
 * nobody still fills them with what he found in the index. */
void unpublish(struct translator *t, const struct place *p);
void unpublish_landing(struct translator *t, const struct place *p);
void unpublish_end(struct translator *t);
/* The place has a better landing now; end with unpublish_end. */
void replace_landing(struct translator *t, struct place *p, u32 landing);
void unpublish_all(struct translator *t);
void ahead_push(struct translator *t, u64 key);

/* volatile.c */
bool volatile_at(const struct translator *t, u64 pc);
bool volatile_insn(const struct translator *t, const struct insn *in);
/* May the path of a volatile unit go on behind its latest instruction? */
bool volatile_goes_on(struct builder *b, const struct insn *in);
/* Leave to the stub if the unit's bytes are not what they were; and put back what that borrowed. */
void volatile_check(struct builder *b, u64 stub);
void volatile_restore(struct emit *e);
/* The registers that the check has borrowed, by spill slot; REG_NONE for none. */
extern const u8 volatile_loans[4];
/* Would that leave with this stack pointer, although no byte has changed? */
bool volatile_near_stack(const struct translator *t, const struct unit *u, u64 rsp);

/* drop.c: is this the place's unit, or one that its unit has taken the place of? */
bool drop_holds(const struct translator *t, const struct place *p, u32 unit);
/* Forget the unit of a place, then tell the threads. */
void drop_unit(struct translator *t, u64 key);
void drop_end(struct translator *t);
/* Note that the unit of a place depends on its own bytes and on the pages looked at. */
void drop_note(struct translator *t, u64 key);

#endif
