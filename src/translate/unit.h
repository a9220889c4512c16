/* SPDX-License-Identifier: MIT */
/* The unit table: what each exit of each unit means. Written by the translator, read by the
 * decoder, kept in the trace.
 *
 * A unit is a path of instructions with one entry. Each exit leaves after a prefix of the path, so
 * an exit is just "how many instructions, references and slots": the prefix says the rest. */
#ifndef UNIT_H
#define UNIT_H

#include "base/base.h"
#include "base/vec.h"

/* A term of an address: a slot number, or one of these. */
enum term {
    TERM_SLOT_LIMIT = 240,
    TERM_RSP = 250, /* rsp at unit entry, carried by the decoder */
    TERM_FS = 251,  /* fs and gs base, carried */
    TERM_GS = 252,
    TERM_NONE = 255, /* zero */
};

enum ref_kind { REF_LOAD, REF_STORE, REF_MODIFY };

/* How a reference's accesses follow from its terms. Plain: one access at seg + a + (b << shift) +
 * disp. */
enum ref_op {
    REF_PLAIN,
    REF_BIT,    /* bt m,r: slot x is the bit offset; the access is the operand-sized cell that holds
                   the bit */
    REF_XLAT,   /* the low byte of slot x is added to the address */
    REF_REP,    /* a rep string operand: slot x = count before, y = count after, z = pointer after
                   (direction) */
    REF_MASK_K, /* vector operand under a k mask in slot x: `count` elements of `size` bytes */
    REF_PACK_K, /* compress/expand: as many packed elements as bits set in the k mask */
    REF_ANY_K,  /* one access if any of the low `count` bits of the k mask is set */
    REF_MASK_V, /* vector operand under the sign bits of the mask vector that starts in slot x; mask
                   elements `width` */
    REF_INDEX_K, /* gather/scatter: index vector from slot y, elements `width`; k mask in slot x */
    REF_INDEX_V, /* the same with a mask vector of `size`-byte elements from slot x */
    REF_XSAVE,   /* size from the component mask: slots x (eax) and y (edx), standard form */
    REF_XSAVEC,  /* the same, compacted form */
    REF_XRSTOR,  /* the same; slot z is XCOMP_BV */
    REF_LINE,    /* the address is rounded down to a multiple of `size` (clzero) */
    REF_OP_LIMIT,
};

enum {
    REF_PAIRED = 1, /* the next reference takes turns with this one, iteration by iteration */
    REF_ADDR32 =
        2, /* the effective address is truncated to 32 bits before the segment base is added */
};

/* Where the bytes are that a reference has read, or written: in slots, from number `value` - 1 on; or one of these. */
enum {
    VALUE_NONE = 0,      /* nothing is told of them */
    VALUE_NEXT = 254,    /* they are the address behind the instruction: what a call pushes */
    VALUE_UNKNOWN = 255, /* they could not be recorded */
};

/* The data of a rep instruction's accesses, if `width` is 1: one after the other, as long as all of them have fewer bytes than this. If it is 0, all
 * accesses have the same data. */
enum { REP_DATA = 64 };

struct ref {
    s64 disp;
    u32 size;
    u16 insn; /* index in the unit */
    u8 kind, op;
    u8 a, b, shift; /* terms: the effective address is a + (b << shift) + disp */
    u8 seg;         /* segment base: TERM_NONE, TERM_FS or TERM_GS */
    u8 x, y, z;     /* slots of special forms, or TERM_NONE */
    u8 count, width;
    u8 flags;
    u8 before, after; /* the value that was read, and the one that was written */
    u8 pad[4];
};

/* Registers that are stored though no address needs them. */
enum watch {
    WATCH_nothing,
#define WATCH(name, number, arguments, what) WATCH_##name = number,
#include "translate/watches.def"
#undef WATCH
    WATCH_LIMIT
};
/* How many slots that takes. */
u32 watch_slots(u8 kind);

struct unit_insn {
    u64 pc;
    u8 len;
    u8 refs; /* references of this instruction */
    u8 watch; /* what is stored before it besides, an enum watch */
    u8 slot;  /* and from which slot on */
    u32 bytes; /* offset of its bytes in the table's code */
};

enum exit_kind {
    EXIT_DIRECT,
    EXIT_INDIRECT,
    EXIT_SYSCALL,
    EXIT_STATE,
    EXIT_LANDING,
    EXIT_KIND_LIMIT
};

struct unit_exit {
    u32 unit;
    u16 insns, refs; /* prefix of the unit that was executed */
    u8 slots;
    u8 kind;
    u8 rsp_term; /* rsp after the exit: term + rsp_disp */
    u8 is_call;  /* a call pushed its return address on the way out */
    u32 pad2;
    s64 rsp_disp;
    u64 target; /* app pc of a direct exit or of the instruction after a system call, else 0 */
};

struct unit {
    u64 pc;
    u32 insn0, n_insns;
    u32 ref0, n_refs;
    u32 exit0, n_exits; /* index into exits; the id on the wire is index + FIRST_EXIT_ID */
};

/* All arrays only grow: a unit once numbered is never renumbered. */
struct unit_table {
    VEC(struct unit) units;
    VEC(struct unit_insn) insns;
    VEC(struct ref) refs;
    VEC(struct unit_exit) exits;
    VEC(u8) code;
};

/* Is this value in slots? */
static inline bool value_is_kept(u8 value)
{
    return value != VALUE_NONE && value < VALUE_NEXT;
}
/* How many bytes of slots it has there: of masked forms, a whole register, each element in its place. */
u32 unit_value_size(const struct ref *r);
/* The slots that the decoder may look at for a sound reference. */
u32 unit_ref_slots(const struct ref *r);
void unit_table_fini(struct unit_table *t);
/* Check that every index points inside the table and every field is in range: a table from a file
 * is input. */
const char *unit_table_fault(const struct unit_table *t);

#endif
