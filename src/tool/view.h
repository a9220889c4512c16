/* SPDX-License-Identifier: MIT */
/* Events as gait.h shows them: from records and unit tables to runs, accesses and marks. */
#ifndef VIEW_H
#define VIEW_H

#include "base/vec.h"
#include "decode/decode.h"

#include <gait.h>

struct view {
    VEC(struct gait_run) runs;
    VEC(struct gait_access) accesses;
    VEC(struct gait_mark) marks;
};

void view_add(struct view *v, const struct events *e);
void view_clear(struct view *v);
void view_fini(struct view *v);

/* The instructions of a unit table, which others may be looking at while they are added to. */
struct mirror {
    struct gait_insn *insns;
    u8 *code;
    u32 n_insns, n_code;
};

/* Bytes of address space for a mirror, most of them never used. */
#define MIRROR_INSNS (1ull << 26)
#define MIRROR_CODE  (1ull << 29)
#define MIRROR_SIZE  (MIRROR_INSNS * sizeof(struct gait_insn) + MIRROR_CODE)

/* In zeroed memory of that size. */
void mirror_init(struct mirror *m, void *room);
/* Show all that the table has; false if that is more than there is room for. */
bool mirror_update(struct mirror *m, const struct unit_table *t);

#endif
