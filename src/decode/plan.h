/* SPDX-License-Identifier: MIT */
/* The vector path of the decoder: per exit a small plan, per unit its references in groups of eight. Private. */
#ifndef PLAN_H
#define PLAN_H

#include "decode/decode.h"

enum { PLAN_NONE, PLAN_FAST, PLAN_SLOW };

/* What decoding one record of an exit takes; one cache line. */
struct plan {
    u8 kind;
    u8 slots;
    u8 rsp_term; /* TERM_RSP, TERM_NONE or a slot */
    u8 pad;
    u16 refs, insns;
    u16 loads, stores, modifies, pad2;
    u32 ref0, group0;
    s64 rsp_disp;
    u64 pad3[4];
};

/* Eight references: address = lane[a] + (lane[b] << shift) + disp. Lanes 0-13 are slots, 14 is fs, 15 rsp. */
struct group {
    s64 disp[8];
    u8 a[8], b[8], shift[8];
    u8 a_used, b_used; /* masks: which references have the term at all */
    u8 pad[6];
};

struct plans *plans_new(void);
void plans_free(struct plans *p);
/* The plan of an exit, made at its first use. */
const struct plan *plans_get(struct plans *p, const struct unit_table *t, u32 exit);
const struct group *plans_groups(const struct plans *p);

/* Decode fast records from at on; stops at the first record that is not fast, and at the end of data or batch. */
size_t plans_run(struct decoder *d, const u8 *data, size_t size, size_t at, struct batch *b);

#endif
