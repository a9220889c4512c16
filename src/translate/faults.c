/* SPDX-License-Identifier: MIT */
/* From a fault in the cache back to the program: which instruction it was, where its registers are,
 * what had been recorded.
 *
 * All of it was written down when the unit was made: the program's code may have changed since. */
#include "translate/state.h"

#include <string.h>

void mark(struct builder *b, u32 i, u8 flags)
{
    struct mark m = {.at = cache_offset(b->t, emit_here(b->e)),
                     .insn = (u8)i,
                     .slots = (u8)b->n_slots,
                     .flags = flags,
                     .pointer = b->pointer};
    b->mark[b->n_marks++] = m;
}

void mark_again(struct builder *b, u8 n_loans)
{
    struct mark m = b->mark[b->n_marks - 1];
    m.at = cache_offset(b->t, emit_here(b->e));
    m.n_loans = n_loans;
    b->mark[b->n_marks++] = m;
}

/* The last mark at or before this offset. */
static const struct mark *find_mark(const struct translator *t, u32 at)
{
    size_t low = 0, high = t->marks.n;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (t->marks.v[mid].at <= at)
            low = mid + 1;
        else
            high = mid;
    }
    return low ? &t->marks.v[low - 1] : NULL;
}

/* A rep instruction may have done a part of its work: its last slots will say how far it came. */
static void describe_rep(const struct translator *t, const struct unit *u, u32 i, struct fault *f)
{
    const struct unit_insn *x = &t->table.insns.v[u->insn0 + i];
    const struct ref *r = &t->table.refs.v[u->ref0 + f->refs];
    struct insn in;
    struct access a[ACCESS_LIMIT];
    if (!x->refs || r->op != REF_REP ||
        !insn_decode(&in, x->pc, t->table.code.v + x->bytes, x->len))
        return;
    int n = insn_accesses(&in, a);
    f->rep = (struct rep_fault){.refs = x->refs, .count = r->x};
    for (int k = 0; k < n && k < 2; k++) {
        f->rep.last[k] = (struct last_slot){r[k].z, a[k].bit_reg};
        f->rep.n_last++;
    }
}

bool translate_fault(const struct translator *t, u64 cache_pc, struct fault *f)
{
    const struct mark *m =
        cache_pc - t->cache < WIRE_CACHE_SIZE ? find_mark(t, cache_offset(t, cache_pc)) : NULL;
    if (!m || m->flags & MARK_HEAD)
        return false;
    const struct unit *u = &t->table.units.v[m->unit];
    const struct unit_insn *x = &t->table.insns.v[u->insn0];
    *f = (struct fault){.pc = x[m->insn].pc,
                        .unit = m->unit,
                        .insns = m->insn,
                        .slots = m->slots,
                        .r10_saved = m->flags & MARK_R10,
                        .record_done = m->flags & MARK_DONE && !t->quiet[m->unit],
                        .is_return = m->flags & MARK_RETURN,
                        .trap_len = m->flags & MARK_AFTER ? x[m->insn].len : 0,
                        .n_loans = m->n_loans,
                        .pointer = m->pointer};
    memcpy(f->loan, m->loan, sizeof f->loan);
    if (m->flags & MARK_CHECK) {
        f->is_check = true;
        f->n_loans = 4;
        memcpy(f->loan, volatile_loans, sizeof f->loan);
        return true;
    }
    for (u32 i = 0; i < m->insn; i++)
        f->refs = (u16)(f->refs + x[i].refs);
    if (t->config.events >= EVENTS_memory)
        describe_rep(t, u, m->insn, f);
    return true;
}
