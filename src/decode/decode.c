/* SPDX-License-Identifier: MIT */
/* Records to references. The hot path is a straight line per record: header, exit, its references'
 * terms.
 *
 * Data may be hostile: the header is read once, every length is checked against the data, every id
 * against the table. Slot numbers inside the unit table were checked when the table was made or
 * loaded. */
#include "decode/decode.h"
#include "decode/plan.h"
#include "wire/wire.h"

#include <cpuid.h>
#include <string.h>

static u64 slot(const u8 *slots, u32 i)
{
    u64 v;
    memcpy(&v, slots + 8 * (size_t)i, 8);
    return v;
}

/* -- Special forms ---------------------------------------------------------------------------- */

/* Where a batch's references go, and how much room is left. */
struct out {
    struct batch *b;
    const struct carried *carried;
    u32 ref0;     /* of the unit */
    bool partial; /* the unit was left in its middle */
};

static void put(struct out *o, u64 addr, u32 ref)
{
    o->b->addr[o->b->n_refs] = addr;
    o->b->ref[o->b->n_refs++] = ref;
}

static u64 effective(const struct out *o, const struct ref *r, const u8 *slots)
{
    return carried_term(o->carried, slots, r->a) +
           (carried_term(o->carried, slots, r->b) << r->shift) + (u64)r->disp;
}

static u64 linear(const struct out *o, const struct ref *r, u64 ea)
{
    if (r->flags & REF_ADDR32)
        ea = (u32)ea;
    return ea + carried_term(o->carried, NULL, r->seg);
}

static s64 sign_extend(u64 v, u32 bytes)
{
    u32 shift = 64 - 8 * bytes;
    return bytes >= 8 ? (s64)v : (s64)(v << shift) >> shift;
}

static u64 low_bits(u64 v, u32 n)
{
    return n >= 64 ? v : v & ((1ull << n) - 1);
}

static bool vector_bit(const u8 *slots, u8 first, u32 element, u32 width)
{
    return slots[8 * (size_t)first + (element + 1) * width - 1] & 0x80;
}

/* Does the mask of a reference let element i through? */
static bool element_is_on(const struct ref *r, const u8 *slots, u32 i)
{
    switch (r->op) {
    case REF_MASK_V:
        return vector_bit(slots, r->x, i, r->width);
    case REF_INDEX_V:
        return vector_bit(slots, r->x, i, r->size);
    default:
        return slot(slots, r->x) >> i & 1;
    }
}

u32 decode_element(const struct ref *r, const u8 *slots, u32 n)
{
    u32 i = 0;
    for (; i < r->count; i++)
        if (element_is_on(r, slots, i) && !n--)
            break;
    return i;
}

static void put_masked(struct out *o, const struct ref *r, u32 id, const u8 *slots)
{
    u64 ea = effective(o, r, slots);
    u32 packed = 0;
    for (u32 i = 0; i < r->count; i++) {
        if (!element_is_on(r, slots, i))
            continue;
        u32 at = r->op == REF_PACK_K ? packed++ : i;
        put(o, linear(o, r, ea + (u64)at * r->size), id);
    }
}

static void put_indexed(struct out *o, const struct ref *r, u32 id, const u8 *slots)
{
    u64 base = carried_term(o->carried, slots, r->a) + (u64)r->disp;
    for (u32 i = 0; i < r->count; i++) {
        u64 raw = 0;
        if (!element_is_on(r, slots, i))
            continue;
        memcpy(&raw, slots + 8 * (size_t)r->y + (size_t)i * r->width, r->width);
        put(o, linear(o, r, base + ((u64)sign_extend(raw, r->width) << r->shift)), id);
    }
}

/* -- The xsave area --------------------------------------------------------------------------- */

/* Sizes come from the processor's own enumeration; a trace is decoded on the machine kind it was
 * made on. */
struct component {
    u32 size, offset;
    bool aligned;
};

static const struct component *components(u64 *xcr0)
{
    static struct component c[64];
    static u64 enabled;
    static u32 ready;
    if (!load_acquire(&ready)) {
        u32 a, b, x, d, lo, hi;
        __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
        enabled = (u64)hi << 32 | lo;
        for (u32 i = 2; i < 63; i++) {
            if (!(enabled >> i & 1))
                continue;
            __cpuid_count(0xd, i, a, b, x, d);
            c[i] = (struct component){.size = a, .offset = b, .aligned = x & 2};
        }
        store_release(&ready, 1);
    }
    *xcr0 = enabled;
    return c;
}

static u32 area_size(u64 mask, bool compact)
{
    u64 xcr0;
    const struct component *c = components(&xcr0);
    u64 size = 576;
    mask &= xcr0;
    for (u32 i = 2; i < 63; i++) {
        if (!(mask >> i & 1))
            continue;
        if (!compact)
            size = MAX(size, (u64)c[i].offset + c[i].size);
        else
            size = (c[i].aligned ? ALIGN_UP(size, 64) : size) + c[i].size;
    }
    return (u32)size;
}

static void put_xsave(struct out *o, const struct ref *r, u32 id, const u8 *slots)
{
    u64 mask = (u32)slot(slots, r->x) | slot(slots, r->y) << 32;
    bool compact = r->op == REF_XSAVEC;
    if (r->op == REF_XRSTOR) {
        u64 xcomp = slot(slots, r->z);
        compact = xcomp >> 63;
        if (compact)
            mask = xcomp & ~(1ull << 63);
    }
    u32 n = o->b->n_odd++;
    o->b->odd[n].ref = id;
    o->b->odd[n].size = area_size(mask, compact);
    put(o, linear(o, r, effective(o, r, slots)), BATCH_ODD | n);
}

static void put_special(struct out *o, const struct ref *r, u32 id, const u8 *slots)
{
    u64 ea = effective(o, r, slots);
    switch (r->op) {
    case REF_BIT: {
        s64 bit = sign_extend(slot(slots, r->x), r->size);
        s64 cell = bit >> (3 + __builtin_ctz(r->size));
        put(o, linear(o, r, ea + (u64)(cell * (s64)r->size)), id);
        break;
    }
    case REF_XLAT:
        put(o, linear(o, r, ea + (u8)slot(slots, r->x)), id);
        break;
    case REF_ANY_K:
        if (low_bits(slot(slots, r->x), r->count))
            put(o, linear(o, r, ea), id);
        break;
    case REF_MASK_K:
    case REF_PACK_K:
    case REF_MASK_V:
        put_masked(o, r, id, slots);
        break;
    case REF_INDEX_K:
    case REF_INDEX_V:
        put_indexed(o, r, id, slots);
        break;
    case REF_XSAVE:
    case REF_XSAVEC:
    case REF_XRSTOR:
        put_xsave(o, r, id, slots);
        break;
    case REF_LINE:
        put(o, linear(o, r, ea) & ~(u64)(r->size - 1), id);
        break;
    default: /* plain */
        put(o, linear(o, r, ea), id);
    }
}

/* -- rep ----------------------------------------------------------------------------------------
 */

struct rep {
    u64 n;     /* iterations */
    u64 ea[2]; /* of the first iteration */
    s64 step[2];
    u32 refs; /* 1 or 2 */
};

static struct rep rep_of(const struct out *o, const struct ref *r, const u8 *slots)
{
    struct rep p = {.refs = r->flags & REF_PAIRED ? 2 : 1};
    bool narrow = r->flags & REF_ADDR32;
    u64 before = slot(slots, r->x), after = r->y == TERM_NONE ? 0 : slot(slots, r->y);
    p.n = narrow ? (u32)before - (u32)after : before - after;
    for (u32 k = 0; k < p.refs; k++) {
        p.ea[k] = effective(o, &r[k], slots);
        u64 moved = slot(slots, r[k].z) - p.ea[k];
        bool down = narrow ? (s32)moved < 0 : (s64)moved < 0;
        p.step[k] = down ? -(s64)r[k].size : (s64)r[k].size;
        if (o->partial) /* stopped by a fault: what its pointers say is what was done */
            p.n = (narrow ? (u32)(down ? 0 - moved : moved) : down ? 0 - moved : moved) / r[k].size;
    }
    return p;
}

/* Give out as many iterations as fit, from d->rep_done on; true when all are out. */
static bool put_rep(struct decoder *d, struct out *o, const struct ref *r, u32 id, const u8 *slots)
{
    struct rep p = rep_of(o, r, slots);
    u64 i = d->rep_done;
    for (; i < p.n && o->b->n_refs + p.refs <= BATCH_REFS; i++)
        for (u32 k = 0; k < p.refs; k++)
            put(o, linear(o, &r[k], p.ea[k] + (u64)p.step[k] * i), id + k);
    d->rep_done = i < p.n ? i : 0;
    return i >= p.n;
}

/* -- One record ------------------------------------------------------------------------------- */

/* References that special forms may add beyond one each. */
enum { SPECIAL_LIMIT = 64 };

/* Emit references from..exit.refs of a record; returns how many static references are done. */
static u32 put_refs(struct decoder *d, struct out *o, const struct unit_exit *x, u32 from,
                    const u8 *slots)
{
    const struct ref *refs = d->table->refs.v + o->ref0;
    for (u32 j = from; j < x->refs; j++) {
        const struct ref *r = &refs[j];
        if (r->op == REF_PLAIN && r->seg == TERM_NONE && !r->flags) {
            if (o->b->n_refs >= BATCH_REFS)
                return j;
            put(o, effective(o, r, slots), o->ref0 + j);
        } else if (r->op == REF_REP) {
            if (!put_rep(d, o, r, o->ref0 + j, slots))
                return j;
            j += (r->flags & REF_PAIRED) != 0;
        } else {
            if (o->b->n_refs + SPECIAL_LIMIT > BATCH_REFS || o->b->n_odd == BATCH_ODD_LIMIT)
                return j;
            put_special(o, r, o->ref0 + j, slots);
        }
    }
    return x->refs;
}

static int take_guest_record(struct decoder *d, u32 id, u32 n, const u8 *slots, struct err *e)
{
    static const u8 lengths[FIRST_EXIT_ID] = {
#define RECORD(name, number, slots, what) [number] = slots,
#include "wire/records.def"
#undef RECORD
    };
    if (n != lengths[id] && lengths[id] != RECORD_ANY_SLOTS)
        return err_set(e, "a record of number %u has %u slots instead of %u", id, n, lengths[id]);
    if (record_is_state(id))
        d->carried = (struct carried){
            .rsp = slot(slots, 0), .fs = slot(slots, 1), .gs = slot(slots, 2), .known = true};
    return 0;
}

static void carry(struct decoder *d, const struct unit_exit *x, const u8 *slots)
{
    d->carried.rsp = carried_rsp(&d->carried, x, slots);
}

/* Count references from..n of the batch by kind. */
static void count_refs(const struct unit_table *t, struct batch *b, u32 from)
{
    u64 kind[REF_MODIFY + 1] = {0};
    for (u32 j = from; j < b->n_refs; j++) {
        u32 r = b->ref[j] & BATCH_ODD ? b->odd[b->ref[j] & ~BATCH_ODD].ref : b->ref[j];
        kind[t->refs.v[r].kind]++;
    }
    b->loads += kind[REF_LOAD];
    b->stores += kind[REF_STORE];
    b->modifies += kind[REF_MODIFY];
}

bool decode_special(struct decoder *d, struct batch *b, u32 ref0, u32 j, const u8 *slots)
{
    struct out o = {.b = b, .carried = &d->carried, .ref0 = ref0};
    const struct ref *r = d->table->refs.v + ref0 + j;
    u32 from = b->n_refs;
    if (from + SPECIAL_LIMIT > BATCH_REFS || b->n_odd == BATCH_ODD_LIMIT)
        return false;
    if (r->op != REF_REP) {
        put_special(&o, r, ref0 + j, slots);
    } else if (!put_rep(d, &o, r, ref0 + j, slots)) {
        d->rep_done = 0;
        b->n_refs = from;
        return false;
    }
    count_refs(d->table, b, from);
    return true;
}

enum step { STEP_NEXT, STEP_FULL, STEP_BAD };

/* Give out what an exit means. */
static enum step take_path(struct decoder *d, struct batch *b, const struct unit_exit *x,
                           const u8 *slots, bool partial)
{
    const struct unit_table *table = d->table;
    struct out o = {.b = b, .carried = &d->carried, .partial = partial};
    u32 from = b->n_refs;
    o.ref0 = table->units.v[x->unit].ref0;
    d->ref_done = put_refs(d, &o, x, d->ref_done, slots);
    count_refs(table, b, from);
    d->unfinished = d->ref_done < x->refs;
    if (d->unfinished)
        return STEP_FULL;
    d->ref_done = 0;
    b->insns += x->insns;
    carry(d, x, slots);
    return STEP_NEXT;
}

/* Decode the record of an exit, with every check. */
static enum step take_exit_record(struct decoder *d, struct batch *b, u32 id, u32 n,
                                  const u8 *slots, struct err *e)
{
    const struct unit_table *table = d->table;
    if (id - FIRST_EXIT_ID >= table->exits.n)
        return err_set(e, "it names exit %u, which does not exist", id), STEP_BAD;
    const struct unit_exit *x = &table->exits.v[id - FIRST_EXIT_ID];
    if (x->slots != n)
        return err_set(e, "it has %u slots, but its exit %u has %u", n, id, x->slots), STEP_BAD;
    if (!d->carried.known)
        return err_set(e, "it comes before any state record"), STEP_BAD;
    enum step s = take_path(d, b, x, slots, false);
    if (s == STEP_NEXT && d->plans)
        plans_make(d->plans, table, id - FIRST_EXIT_ID);
    return s;
}

/* A unit that was left in its middle: the record itself says how far it came. */
static const char *partial_fault(const struct decoder *d, const struct partial *p, u32 n)
{
    const struct unit_table *table = d->table;
    if (n < PARTIAL_EXTRA_SLOTS || n - PARTIAL_EXTRA_SLOTS >= TERM_SLOT_LIMIT)
        return "it is partial and has an impossible number of slots";
    if (p->unit >= load_acquire(&table->units.n))
        return "it names a unit that does not exist";
    const struct unit *u = &table->units.v[p->unit];
    const struct ref *r = &table->refs.v[u->ref0];
    if (p->insns > u->n_insns || p->refs > u->n_refs)
        return "it says more than its unit has";
    for (u32 i = 0; i < p->refs; i++)
        if (r[i].insn >= p->insns || unit_ref_slots(&r[i]) > n - PARTIAL_EXTRA_SLOTS)
            return "it has fewer slots than its references need";
    if (p->refs && r[p->refs - 1].flags & REF_PAIRED)
        return "it parts a pair of references";
    return d->carried.known ? NULL : "it comes before any state record";
}

static enum step take_partial(struct decoder *d, struct batch *b, u32 n, const u8 *slots,
                              struct err *e)
{
    struct partial p = n ? partial_of(slot(slots, 0)) : (struct partial){0};
    const char *fault = partial_fault(d, &p, n);
    if (fault)
        return err_set(e, "%s", fault), STEP_BAD;
    struct unit_exit x = {.unit = p.unit,
                          .insns = p.insns,
                          .refs = p.refs,
                          .rsp_term = (u8)(n - PARTIAL_EXTRA_SLOTS)};
    return take_path(d, b, &x, slots + 8, true);
}

s64 decode_batch(struct decoder *d, const u8 *data, size_t size, struct batch *b, bool *ended,
                 struct err *e)
{
    size_t at = 0, end = 0;
    b->n_records = b->n_refs = b->n_odd = 0;
    b->insns = b->loads = b->stores = b->modifies = 0;
    b->carried = d->carried;
    d->unfinished = *ended = false;
    for (;;) {
        u32 header;
        if (d->plans && d->carried.known && !d->ref_done && !d->rep_done)
            at = plans_run(d, data, size, at, b);
        if (at + RECORD_SLOTS_AT > size || b->n_records == BATCH_RECORDS ||
            (b->n_records && b->n_refs + RECORD_REFS > BATCH_REFS))
            break;
        memcpy(&header, data + at, 4);
        u32 id = header >> RECORD_ID_SHIFT, n = header & RECORD_SLOT_LIMIT, i = b->n_records;
        size_t length = RECORD_SLOTS_AT + 8 * (size_t)n;
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        if (id == 0) {
            *ended = true;
            break;
        }
        if (length > size - at)
            return err_set(e, "the record is cut off");
        b->exit[i] = id;
        b->record_at[i] = (u32)at;
        b->first[i] = b->n_refs;
        enum step s = STEP_NEXT;
        if (id >= FIRST_EXIT_ID)
            s = take_exit_record(d, b, id, n, slots, e);
        else if (id == RECORD_partial)
            s = take_partial(d, b, n, slots, e);
        else if (take_guest_record(d, id, n, slots, e) < 0)
            s = STEP_BAD;
        if (s == STEP_BAD)
            return -1;
        b->n_records++;
        end = at + length;
        if (s == STEP_FULL)
            break;
        at = end;
    }
    b->record_at[b->n_records] = (u32)MAX(at, end);
    b->first[b->n_records] = b->n_refs;
    return (s64)at;
}

u32 events_shown(const struct events *e)
{
    const struct batch *b = e->batch;
    const u32 last = b->n_records - 1, shown = e->continues && !last ? e->shown : 0;
    if (b->n_refs == b->first[last])
        return shown;
    u32 j = b->ref[b->n_refs - 1];
    j = j & BATCH_ODD ? b->odd[j & ~BATCH_ODD].ref : j;
    return MAX(shown, e->table->refs.v[j].insn + 1u);
}

void decoder_init(struct decoder *d, const struct unit_table *table, bool scalar)
{
    *d = (struct decoder){.table = table, .plans = scalar ? NULL : plans_new()};
}

void decoder_fini(struct decoder *d)
{
    plans_free(d->plans);
    d->plans = NULL;
}

void decoder_reset(struct decoder *d)
{
    d->carried = (struct carried){0};
    d->unfinished = false;
    d->ref_done = 0;
    d->rep_done = 0;
}
