/* SPDX-License-Identifier: MIT */
/* Packing and unpacking side by side. */
#include "decode/pack.h"
#include "base/number.h"
#include "decode/decode.h"
#include "store/many.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    RECORDS_LIMIT = 1u << 31, /* runs are counted in 32 bits */
    IDS_LIMIT = 4 << 20,      /* ids that wait to be coded: 16 MB */
    CODE_NEW = PACK_WAYS,     /* codes from here on are differences of ids */
    NEW_IDS = 512,            /* that go to their columns together */
    HEAD_BYTES = sizeof(struct pack_head),
    ROWS_FIRST = 16,     /* records of a group that there is room for, at first, when they are unpacked; */
    PACK_ROWS_FIRST = 4, /* ... when they are packed: many units are seen once or twice; */
    PACK_ROWS_MORE = 4,  /* then so many times more */
    STATE_HEADER = RECORD_state << RECORD_ID_SHIFT | RECORD_state_slots,
};

enum pack_rsp { RSP_CONSTANT, RSP_CARRIED, RSP_IN_SLOT };

static const u8 guest_slots[FIRST_EXIT_ID] = {
#define RECORD(name, number, slots, what) [number] = slots,
#include "wire/records.def"
#undef RECORD
};

typedef u32 u32_anywhere __attribute__((aligned(1), may_alias));
typedef u64 u64_anywhere __attribute__((aligned(1), may_alias));

/* -- The sequence of ids ----------------------------------------------------------------------- */

static inline u32 *foreseen(struct pack_context *c, struct pack_before b)
{
    u32 h = b.id[0] * 0x9e3779b1u ^ b.id[1] * 0x85ebca6bu ^ b.id[2] * 0xc2b2ae35u;
    return &c->follow[h >> (32 - PACK_FOLLOW_BITS)];
}

static inline struct pack_before went_on(struct pack_before b, u32 id)
{
    return (struct pack_before){{id, b.id[0], b.id[1]}};
}

/* The ways on from an id; *ways is its place in the context. */
static struct pack_ways *ways_of(struct pack_context *c, u32 *ways)
{
    if (!*ways) {
        vec_push(&c->ways, (struct pack_ways){0});
        *ways = (u32)c->ways.n;
    }
    return &c->ways.v[*ways - 1];
}

/* Which way it is: its number, or PACK_WAYS if it is new and is now known as far as there is room. Nobody can foretell which: so all are looked at. */
static u32 find_way(struct pack_ways *w, u32 id)
{
    u32 k = PACK_WAYS, free = PACK_WAYS;
    for (u32 i = PACK_WAYS; i-- > 0;) {
        k = w->id[i] == id ? i : k;
        free = w->id[i] ? free : i;
    }
    if (k == PACK_WAYS && free < PACK_WAYS)
        w->id[free] = id;
    return k;
}

/* -- Columns of a unit ------------------------------------------------------------------------- */

static u32 most_slots(const struct unit_table *t, const struct unit *u)
{
    u32 most = 0;
    for (u32 i = 0; i < u->n_exits; i++)
        most = MAX(most, (u32)t->exits.v[u->exit0 + i].slots);
    return most;
}

/* Which column each slot is in, and how many there are. Where a loop is laid out several times, the same operand of the same instruction has
 * a slot for each round; in one column these are the sequence that they are in the program. */
static u32 share_columns(const struct unit_table *t, const struct unit *u, u32 slots, u8 *column_of)
{
    struct {
        u64 pc;
        u32 operand; /* 0 if no address begins with this slot */
    } origin[256] = {0};
    u32 n = 0;
    for (u32 i = 0; i < u->n_refs; i++) {
        const struct ref *r = &t->refs.v[u->ref0 + i];
        const u8 terms[] = {r->a, r->b};
        for (u32 k = 0; k < ARRAY_LEN(terms); k++) {
            if (terms[k] >= TERM_SLOT_LIMIT || origin[terms[k]].operand || r->insn >= u->n_insns)
                continue;
            origin[terms[k]].pc = t->insns.v[u->insn0 + r->insn].pc;
            origin[terms[k]].operand = 1 + k;
        }
    }
    for (u32 i = 0; i < slots; i++) {
        u32 k = origin[i].operand ? 0 : i;
        while (k < i && (origin[k].pc != origin[i].pc || origin[k].operand != origin[i].operand))
            k++;
        column_of[i] = (u8)(k < i ? column_of[k] : n++);
    }
    return n;
}

/* Of n columns for these slots, where that is fewer. */
static struct pack_shares shares_of(const u8 *column_of, u32 slots, u32 n, struct arena *a)
{
    struct pack_shares s = {0};
    if (n == slots)
        return s;
    u8 *order, *in_row;
    s.order = order = arena_alloc(a, slots);
    s.in_row = in_row = arena_alloc(a, n * (slots + 1));
    for (u32 column = 0; column < n; column++) {
        u8 in_column = 0;
        for (u32 k = 0; k < slots; k++) {
            *in_row++ = in_column;
            if (column_of[k] == column)
                order[in_column++] = (u8)k;
        }
        *in_row++ = in_column;
        order += in_column;
    }
    return s;
}

/* -- Packing: what an id means ----------------------------------------------------------------- */

struct pack *pack_new(const struct unit_table *t)
{
    struct pack *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->table = t;
    p->limit = PACK_LIMIT;
    p->hand.scalar = !many_has_vectors();
    p->context = calloc(1, sizeof *p->context);
    check(p->context != NULL);
    return p;
}

/* Megabytes that the kernel need not clear once more. */
void pack_clear(struct pack *p)
{
    struct pack empty = {.table = p->table, .limit = p->limit, .hand = p->hand, .groups = p->groups, .exits = p->exits, .ids = p->ids, .ways = p->ways,
                         .context = p->context};
    empty.groups.n = empty.exits.n = empty.ids.n = empty.ways.n = 0;
    columns_clear(&empty.hand.shared);
    empty.context->before = (struct pack_before){0};
    memset(empty.context->follow, 0, sizeof empty.context->follow);
    empty.context->ways.n = 0;
    *p = empty;
}

void pack_scalar(struct pack *p)
{
    p->hand.scalar = true;
}

void pack_free(struct pack *p)
{
    if (!p)
        return;
    rows_hand_fini(&p->hand);
    vec_fini(&p->groups);
    vec_fini(&p->exits);
    vec_fini(&p->ids);
    vec_fini(&p->ways);
    vec_fini(&p->context->ways);
    free(p->context);
    free(p);
}

static struct pack_group *add_group(struct pack *p, u32 number, u32 slots, u32 n)
{
    size_t size = sizeof(struct pack_group) + n * sizeof(struct column);
    struct pack_group *g = memset(arena_alloc(&p->hand.shared.arena, size), 0, size);
    g->number = number;
    g->n = n;
    g->slots = slots;
    rows_begin(&p->hand, g, PACK_ROWS_FIRST);
    vec_push(&p->groups, g);
    return g;
}

/* All exits of a unit share its columns. */
static void meet_unit(struct pack *p, u32 unit)
{
    const struct unit_table *t = p->table;
    const struct unit *u = &t->units.v[unit];
    const struct unit_exit *x = &t->exits.v[u->exit0];
    u8 column_of[256];
    u32 most = most_slots(t, u), n = share_columns(t, u, most, column_of);
    struct pack_group *group = add_group(p, FIRST_EXIT_ID + unit, most, n);
    group->shares = shares_of(column_of, most, n, &p->hand.shared.arena);
    for (u32 i = 0; i < u->n_exits; i++)
        p->exits.v[FIRST_EXIT_ID + u->exit0 + i] =
            (struct pack_exit){.rsp_disp = x[i].rsp_disp,
                               .group = group,
                               .insns = x[i].insns,
                               .slots = x[i].slots,
                               .rsp_is = x[i].rsp_term == TERM_RSP    ? RSP_CARRIED
                                         : x[i].rsp_term < x[i].slots ? RSP_IN_SLOT
                                                                      : RSP_CONSTANT,
                               .rsp_at = x[i].rsp_term < x[i].slots ? 8 * x[i].rsp_term : -8,
                               .plain = x[i].kind == EXIT_DIRECT || x[i].kind == EXIT_INDIRECT};
}

/* The table has grown, perhaps, since an id was last looked at. */
static void know_more_exits(struct pack *p)
{
    size_t units = load_acquire(&p->table->units.n), n = FIRST_EXIT_ID, had = p->exits.n;
    const struct unit *last = units ? &p->table->units.v[units - 1] : NULL;
    if (last)
        n += last->exit0 + last->n_exits;
    if (n <= had)
        return;
    memset(vec_grow(&p->exits, n - had), 0, (n - had) * sizeof *p->exits.v);
    memset(vec_grow(&p->ways, n - had), 0, (n - had) * sizeof *p->ways.v);
}

/* See an id for the first time: NULL, or what is wrong with it. */
static const char *meet(struct pack *p, u32 id)
{
    if (id >= p->exits.n)
        know_more_exits(p);
    if (id >= p->exits.n)
        return "names an exit that does not exist";
    if (id >= FIRST_EXIT_ID) {
        meet_unit(p, p->table->exits.v[id - FIRST_EXIT_ID].unit);
        return NULL;
    }
    u32 slots = guest_slots[id];
    if (slots == 0)
        return "has an unknown number";
    p->exits.v[id] = (struct pack_exit){.group = add_group(p, id, slots, slots), .slots = (u8)slots};
    return NULL;
}

/* -- Packing: one record ----------------------------------------------------------------------- */

/* Ids that did not come as foreseen, on their way to the columns: how many came as foreseen before each, and its code. */
struct new_ids {
    u32 n;
    u64 runs[MANY_BEFORE + NEW_IDS + MANY_BEHIND], codes[MANY_BEFORE + NEW_IDS + MANY_BEHIND];
};

static void put_new_ids(struct pack *p, struct new_ids *x)
{
    column_put_many_plain(&p->hand.shared, &p->runs, x->runs + MANY_BEFORE, x->n, !p->hand.scalar);
    column_put_many_plain(&p->hand.shared, &p->codes, x->codes + MANY_BEFORE, x->n, !p->hand.scalar);
    x->n = 0;
}

static void add_new_id(struct pack *p, struct new_ids *x, u32 before, u32 id)
{
    u32 way = find_way(ways_of(p->context, &p->ways.v[before]), id);
    x->runs[MANY_BEFORE + x->n] = p->run;
    x->codes[MANY_BEFORE + x->n] = way < PACK_WAYS ? way : CODE_NEW + zigzag((u64)id - before);
    p->run = 0;
    if (++x->n == NEW_IDS)
        put_new_ids(p, x);
}

/* Which of up to 64 ids do not come as foreseen, as bits. No branch tells: half of a program's are mispredicted there. */
static u64 find_new_ids(struct pack_context *c, const u32 *ids, u32 n)
{
    struct pack_before before = c->before;
    u64 new = 0;
    for (u32 i = 0; i < n; i++) {
        u32 id = ids[i], *next = foreseen(c, before);
        new |= (u64)(*next != id) << i;
        *next = id;
        before = went_on(before, id);
    }
    c->before = before;
    return new;
}

/* Code the ids at hand. Nothing else needs that done at once: it is left until the pack is stored, unless they are too many. */
static void put_ids(struct pack *p)
{
    struct new_ids x = {.n = 0};
    u32 before = p->context->before.id[0];
    for (size_t i = 0; i < p->ids.n; i += 64) {
        const u32 *ids = p->ids.v + i, n = (u32)MIN(p->ids.n - i, 64ul);
        u32 done = 0;
        for (u64 new = find_new_ids(p->context, ids, n); new; new &= new - 1) {
            u32 k = (u32)__builtin_ctzll(new);
            p->run += k - done;
            add_new_id(p, &x, k ? ids[k - 1] : before, ids[k]);
            done = k + 1;
        }
        p->run += n - done;
        before = ids[n - 1];
    }
    put_new_ids(p, &x);
    p->ids.n = 0;
}

/* The program may write to its buffers while we read them: what is checked must be what is used. */
static inline u32 read_header(const u8 *data)
{
    return *(const volatile u32_anywhere *)(const void *)data;
}

static inline u64 slot(const u8 *slots, u32 i)
{
    return ((const u64_anywhere *)(const void *)slots)[i];
}

/* rsp behind a record; `in_slot` is what stands where rsp_at says. */
static inline u64 rsp_after(const struct pack_exit *x, u64 rsp, u64 in_slot)
{
    u64 carried = -(u64)(x->rsp_is == RSP_CARRIED), found = -(u64)(x->rsp_is == RSP_IN_SLOT);
    return ((rsp & carried) | (in_slot & found)) + (u64)x->rsp_disp;
}

/* Note what a guest record tells besides its slots. */
static void take_guest_record(struct pack *p, u32 id, const u8 *slots, u32 n)
{
    p->dropping = false;
    if (record_is_state(id)) {
        p->rsp = slot(slots, 0);
        p->fs = slot(slots, 1);
        p->gs = slot(slots, 2);
    }
    if (id == RECORD_partial) {
        column_put_plain(&p->hand.shared, &p->lengths, n);
        p->head.instructions += n ? partial_of(slot(slots, 0)).insns : 0;
    } else {
        u64 time = slot(slots, n - 1); /* always the last; 0 where there was none to be had */
        p->head.last = time ? time : p->head.last;
    }
    if (!p->head.records)
        p->head.began = p->head.last;
}

/* A state record at the head of a buffer that says what is known. */
static bool is_redundant(struct pack *p, const u8 *slots)
{
    if (!p->dropping || slot(slots, 0) != p->rsp || slot(slots, 1) != p->fs ||
        slot(slots, 2) != p->gs)
        return false;
    p->head.last = slot(slots, 3);
    return true;
}

/* -- Packing: slots ---------------------------------------------------------------------------- */

/* A group's rows are full. */
static __attribute__((noinline)) void end_rows(struct pack *p, struct pack_group *g)
{
    rows_put(&p->hand, g);
    if (g->room < ROWS_MOST)
        rows_begin(&p->hand, g, MIN(g->room * PACK_ROWS_MORE, (u32)ROWS_MOST));
}

/* The next row has so many slots, which are in it already. */
static inline void end_row(struct pack *p, struct pack_group *g, u32 n)
{
    g->rows->lengths[g->n_rows++] = (u8)n;
    g->next += g->slots;
    if (__builtin_expect(g->n_rows == g->room, 0))
        end_rows(p, g);
}

/* -- Packing: a buffer ------------------------------------------------------------------------- */

/* Any record, with all checks. */
static const char *take_record(struct pack *p, u32 id, const u8 *slots, u32 n)
{
    if (id >= p->exits.n || !p->exits.v[id].group) {
        const char *fault = meet(p, id);
        if (fault)
            return fault;
    }
    const struct pack_exit *x = &p->exits.v[id];
    if (n != x->slots && id != RECORD_partial)
        return "has another number of slots than its exit";
    memcpy(x->group->next, slots, 8 * (size_t)n);
    end_row(p, x->group, n);
    vec_push(&p->ids, id);
    if (id < FIRST_EXIT_ID) {
        take_guest_record(p, id, slots, n);
    } else {
        p->rsp = rsp_after(x, p->rsp, x->rsp_is == RSP_IN_SLOT ? slot(slots + x->rsp_at, 0) : 0);
        p->dropping = x->plain;
        p->head.instructions += x->insns;
    }
    p->head.records++;
    p->head.bytes += RECORD_SLOTS_AT + 8 * (u64)n;
    return NULL;
}

typedef u64 row_part __attribute__((vector_size(8 * ROWS_COPIED), aligned(1), may_alias));

/* Records of exits that were met before, as many as there are in a row: the same as take_record, without its branches. More slots
 * than there are may be read, so this stops short of the end. Returns where it stopped. */
static inline __attribute__((always_inline)) size_t take_all_known(struct pack *p, const u8 *data, size_t at, size_t size)
{
    const struct pack_exit *exits = p->exits.v, *x = NULL;
    size_t n_exits = p->exits.n, began = at;
    u32 *ids = p->ids.v + p->ids.n;
    u64 rsp = p->rsp, instructions = 0, records = 0;
    while (at + RECORD_SLOTS_AT + 8 * RECORD_SLOT_LIMIT <= size) {
        u32 header = read_header(data + at), id = header >> RECORD_ID_SHIFT,
            n = header & RECORD_SLOT_LIMIT;
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        if (id < FIRST_EXIT_ID || id >= n_exits || !exits[id].group || exits[id].slots != n)
            break;
        x = &exits[id];
        struct pack_group *g = x->group;
        for (u32 i = 0; i < n; i += ROWS_COPIED)
            *(row_part *)(void *)(g->next + i) = *(const row_part *)(const void *)(slots + 8 * i);
        end_row(p, g, n);
        ids[records] = id;
        rsp = rsp_after(x, rsp, slot(slots + x->rsp_at, 0));
        instructions += x->insns;
        records++;
        at += RECORD_SLOTS_AT + 8 * (size_t)n;
    }
    if (x) {
        p->ids.n += records;
        p->rsp = rsp;
        p->dropping = x->plain;
        p->head.instructions += instructions;
        p->head.records += records;
        p->head.bytes += at - began;
    }
    return at;
}

static size_t take_known(struct pack *p, const u8 *data, size_t at, size_t size)
{
    return take_all_known(p, data, at, size);
}

/* A row is copied at once. */
static __attribute__((target("avx512f"))) size_t take_known_vectors(struct pack *p, const u8 *data, size_t at, size_t size)
{
    return take_all_known(p, data, at, size);
}

int pack_records(struct pack *p, const u8 *data, size_t size, struct err *e)
{
    const char *fault = NULL;
    if (p->ids.n >= IDS_LIMIT)
        put_ids(p);
    (void)vec_grow(&p->ids, size / RECORD_SLOTS_AT); /* room for as many as there can be */
    p->ids.n -= size / RECORD_SLOTS_AT;
    for (size_t at = 0; at + RECORD_SLOTS_AT <= size && !fault;) {
        u32 header = read_header(data + at), id = header >> RECORD_ID_SHIFT,
            n = header & RECORD_SLOT_LIMIT;
        size_t length = RECORD_SLOTS_AT + 8 * (size_t)n;
        const u8 *slots = data + at + RECORD_SLOTS_AT;
        if (id == 0)
            break;
        if (length > size - at)
            fault = "is cut off";
        else if (!p->head.records && id != RECORD_state)
            fault = "stands at the beginning and is no state record";
        else if (at || header != STATE_HEADER || !is_redundant(p, slots))
            fault = take_record(p, id, slots, n);
        at += length;
        if (!fault)
            at = (p->hand.scalar ? take_known : take_known_vectors)(p, data, at, size);
    }
    return fault ? err_set(e, "a record %s", fault) : 0;
}

bool pack_is_full(const struct pack *p)
{
    return p->hand.shared.n_bytes >= p->limit || p->head.records >= RECORDS_LIMIT;
}

/* -- Packing: the contents --------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    u32 x = (*(struct pack_group *const *)a)->number, y = (*(struct pack_group *const *)b)->number;
    return x < y ? -1 : x > y;
}

/* Which groups there are, how many columns each has, and how long these are; then the columns. */
static void store_groups(struct pack *p, struct store_bytes *to)
{
    struct column numbers = {0}, counts = {0}, sizes = {0};
    qsort(p->groups.v, p->groups.n, sizeof *p->groups.v, by_number);
    for (size_t i = 0; i < p->groups.n; i++) {
        struct pack_group *g = p->groups.v[i];
        column_put(&p->hand.shared, &numbers, g->number);
        column_put_plain(&p->hand.shared, &counts, g->n);
        rows_put(&p->hand, g);
        for (u32 k = 0; k < g->n; k++)
            column_put_plain(&p->hand.shared, &sizes, column_finish(&p->hand.shared, &g->columns[k]));
    }
    bytes_put_number(to, p->groups.n);
    column_store_sized(&p->hand.shared, &numbers, to);
    column_store_sized(&p->hand.shared, &counts, to);
    column_store_sized(&p->hand.shared, &sizes, to);
    for (size_t i = 0; i < p->groups.n; i++)
        for (u32 k = 0; k < p->groups.v[i]->n; k++)
            column_store(&p->groups.v[i]->columns[k], to);
}

void pack_store(struct pack *p, struct store_bytes *to)
{
    put_ids(p);
    column_put_plain(&p->hand.shared, &p->runs, p->run);
    memcpy(vec_grow(to, HEAD_BYTES), &p->head, HEAD_BYTES);
    column_store_sized(&p->hand.shared, &p->runs, to);
    column_store_sized(&p->hand.shared, &p->codes, to);
    column_store_sized(&p->hand.shared, &p->lengths, to);
    store_groups(p, to);
}

/* -- Unpacking: the contents ------------------------------------------------------------------- */

const char *unpack_head(const u8 *bytes, size_t size, struct pack_head *head)
{
    if (size < HEAD_BYTES)
        return "is too short";
    memcpy(head, bytes, HEAD_BYTES);
    return head->records > RECORDS_LIMIT + (u64)STORE_CHUNK_LIMIT ? "claims too many records"
                                                                  : NULL;
}

/* A group's columns: their sizes are known, their bytes follow one another. */
static const char *read_group(struct unpack *u, u64 number, u64 n, struct column_reader *sizes,
                              const u8 **at, const u8 *end)
{
    vec_push(&u->groups, ((struct unpack_group){
                             .number = (u32)number, .column = (u32)u->columns.n, .n = (u32)n}));
    u->group_of[number] = (u32)u->groups.n;
    for (u64 i = 0; i < n; i++) {
        u64 size;
        if (!column_get(sizes, &u->arena, &size) || size > (u64)(end - *at))
            return "has a column that is cut off";
        column_reader_init(vec_grow(&u->columns, 1), *at, size, false);
        *at += size;
    }
    return NULL;
}

static const char *read_groups(struct unpack *u, const u8 **at, const u8 *end)
{
    struct column_reader numbers, counts, sizes;
    u64 n, units = FIRST_EXIT_ID + u->table->units.n, number, count, before = 0;
    if (!number_get(at, end, &n) || n > units || !column_reader_sized(&numbers, at, end, false) ||
        !column_reader_sized(&counts, at, end, true) || !column_reader_sized(&sizes, at, end, true))
        return "has no list of columns";
    u->group_of = calloc(units, sizeof *u->group_of);
    check(u->group_of != NULL);
    for (u64 i = 0; i < n; i++) {
        if (!column_get(&numbers, &u->arena, &number) || !column_get(&counts, &u->arena, &count) ||
            number <= before || number >= units || count > RECORD_SLOT_LIMIT)
            return "has a bad list of columns";
        const char *fault = read_group(u, number, count, &sizes, at, end);
        if (fault)
            return fault;
        before = number;
    }
    return *at == end && column_is_spent(&sizes) ? NULL : "has more bytes than columns";
}

const char *unpack_begin(struct unpack *u, const struct unit_table *t, u32 n_exits, const u8 *bytes,
                         size_t size)
{
    *u = (struct unpack){.table = t, .n_exits = n_exits};
    u->context = calloc(1, sizeof *u->context);
    u->exits = calloc(FIRST_EXIT_ID + (size_t)n_exits, sizeof *u->exits);
    u->ways = calloc(FIRST_EXIT_ID + (size_t)n_exits, sizeof *u->ways);
    check(u->context && u->exits && u->ways);
    const char *fault = unpack_head(bytes, size, &u->head);
    if (fault)
        return fault;
    const u8 *at = bytes + HEAD_BYTES, *end = bytes + size;
    if (!column_reader_sized(&u->runs, &at, end, true) ||
        !column_reader_sized(&u->codes, &at, end, true) ||
        !column_reader_sized(&u->lengths, &at, end, true) ||
        !column_get(&u->runs, &u->arena, &u->run))
        return "has no sequence of records";
    return read_groups(u, &at, end);
}

void unpack_end(struct unpack *u)
{
    arena_fini(&u->arena);
    vec_fini(&u->columns);
    vec_fini(&u->groups);
    vec_fini(&u->touched);
    vec_fini(&u->numbers);
    free(u->group_of);
    free(u->exits);
    free(u->ways);
    if (u->context)
        vec_fini(&u->context->ways);
    free(u->context);
    *u = (struct unpack){0};
}

/* -- Unpacking: one record --------------------------------------------------------------------- */

/* An id that was not foreseen; 0 if there is none. */
static u32 get_new_id(struct unpack *u)
{
    struct pack_context *c = u->context;
    u64 code;
    if (!column_get(&u->codes, &u->arena, &code))
        return 0;
    u32 before = c->before.id[0];
    struct pack_ways *w = ways_of(c, &u->ways[before]);
    u64 id = code < PACK_WAYS ? w->id[code] : before + unzigzag(code - CODE_NEW);
    if (id == 0 || id >= FIRST_EXIT_ID + (u64)u->n_exits)
        return 0;
    if (code >= PACK_WAYS)
        find_way(w, (u32)id);
    return (u32)id;
}

/* Ids that come as foreseen. Each waits for the one before it: nothing else may be in the way. */
static void follow(struct pack_context *c, u32 *ids, u32 n)
{
    struct pack_before before = c->before;
    for (u32 i = 0; i < n; i++) {
        ids[i] = *foreseen(c, before);
        before = went_on(before, ids[i]);
    }
    c->before = before;
}

/* The next ids, as many as there is room for; 0 where the sequence is bad. */
static void get_ids(struct unpack *u)
{
    struct pack_context *c = u->context;
    u32 limit = (u32)MIN(u->head.records - u->done, (u64)UNPACK_IDS);
    u->next_id = u->n_ids = 0;
    while (u->n_ids < limit) {
        u32 n = (u32)MIN(u->run, (u64)(limit - u->n_ids)), *id;
        follow(c, u->ids + u->n_ids, n);
        u->run -= n;
        u->n_ids += n;
        if (u->n_ids == limit)
            return;
        id = &u->ids[u->n_ids++];
        *id = *foreseen(c, c->before) = get_new_id(u);
        c->before = went_on(c->before, *id);
        if (!*id || !column_get(&u->runs, &u->arena, &u->run)) {
            *id = 0;
            return;
        }
    }
}

/* A group with fewer columns than slots shares them. NULL, or what is wrong. */
static const char *meet_group(struct unpack *u, struct unpack_group *g)
{
    const struct unit *unit = &u->table->units.v[g->number - FIRST_EXIT_ID];
    u8 column_of[256];
    g->slots = most_slots(u->table, unit);
    if (g->n == g->slots)
        return NULL;
    if (g->n != share_columns(u->table, unit, g->slots, column_of))
        return "has another number of columns for a unit than it needs";
    g->shares = shares_of(column_of, g->slots, g->n, &u->arena);
    return NULL;
}

static const char *meet_packed(struct unpack *u, u32 id)
{
    bool guest = id < FIRST_EXIT_ID;
    u32 number = guest ? id : FIRST_EXIT_ID + u->table->exits.v[id - FIRST_EXIT_ID].unit;
    u32 slots = guest ? guest_slots[id] : u->table->exits.v[id - FIRST_EXIT_ID].slots;
    u32 group = u->group_of[number];
    if (!group || (guest && (!slots || slots > u->groups.v[group - 1].n)))
        return "has a record without columns for its slots";
    const char *fault =
        guest || u->groups.v[group - 1].slots ? NULL : meet_group(u, &u->groups.v[group - 1]);
    u->exits[id] = (struct unpack_exit){group, slots};
    return fault;
}

static void more_rows(struct unpack *u, struct unpack_group *g)
{
    u32 room = g->room ? 2 * g->room : ROWS_FIRST,
        *rows = arena_alloc(&u->arena, room * sizeof *rows);
    if (g->n_rows)
        memcpy(rows, g->rows, g->n_rows * sizeof *rows);
    g->rows = rows;
    g->room = room;
}

/* The slots of a record are filled in later, together with those of others of its group. */
static inline void note_row(struct unpack *u, u32 group, size_t at, u32 slots)
{
    struct unpack_group *g = &u->groups.v[group];
    if (!g->n_rows) {
        vec_push(&u->touched, group);
        g->least = slots;
    }
    g->least = MIN(g->least, slots);
    if (g->n_rows == g->room)
        more_rows(u, g);
    g->rows[g->n_rows++] = (u32)at << 8 | slots;
}

/* Slot k of the rows at hand, from its column; false if that ends too early. */
static inline bool get_slot(struct unpack *u, const struct unpack_group *g, u32 k, u64 *x, u8 *to,
                            bool all)
{
    u32 n = all ? g->n_rows : 0;
    for (u32 i = 0; i < g->n_rows && !all; i++)
        n += k < (g->rows[i] & 0xff);
    if (!column_get_all(&u->columns.v[g->column + k], &u->arena, x, n))
        return false;
    for (u32 i = 0; i < g->n_rows; i++)
        if (all || k < (g->rows[i] & 0xff))
            ((u64_anywhere *)(void *)(to + (g->rows[i] >> 8)))[k] = *x++;
    return true;
}

/* Slots that share a column: row by row, in each those that it has. Returns those of the next column, or NULL if this one ends too early. */
static const u8 *get_shared(struct unpack *u, const struct unpack_group *g, u32 column,
                            const u8 *slots, u8 *to)
{
    const u8 *in_row = g->shares.in_row + column * (g->slots + 1);
    size_t n = 0;
    for (u32 i = 0; i < g->n_rows; i++)
        n += in_row[g->rows[i] & 0xff];
    u64 *x = n ? vec_grow(&u->numbers, n) : NULL;
    u->numbers.n = 0;
    if (!column_get_all(&u->columns.v[g->column + column], &u->arena, x, (u32)n))
        return NULL;
    for (u32 i = 0; i < g->n_rows; i++) {
        u64_anywhere *row = (void *)(to + (g->rows[i] >> 8));
        for (u32 k = 0, m = in_row[g->rows[i] & 0xff]; k < m; k++)
            row[slots[k]] = *x++;
    }
    return slots + in_row[g->slots];
}

/* The slots of the records at hand, column by column. */
static bool get_rows(struct unpack *u, struct unpack_group *g, u8 *to)
{
    u64 *x = vec_grow(&u->numbers, g->n_rows);
    u->numbers.n = 0;
    const u8 *slots = g->shares.order;
    bool good = true;
    for (u32 k = 0; k < g->n && good; k++)
        good = g->shares.order ? (slots = get_shared(u, g, k, slots, to)) != NULL
                        : get_slot(u, g, k, x, to, k < g->least);
    g->n_rows = 0;
    return good;
}

/* All records are out: nothing may be left. */
static const char *left_over(const struct unpack *u)
{
    bool spent = column_is_spent(&u->runs) && column_is_spent(&u->codes) &&
                 column_is_spent(&u->lengths) && !u->run;
    for (size_t i = 0; i < u->columns.n && spent; i++)
        spent = column_is_spent(&u->columns.v[i]);
    return spent ? NULL : "has more numbers than records";
}

/* The next record's header; its slots are put down for later. NULL, or what is wrong. */
static const char *next_record(struct unpack *u, u8 *to, size_t *at)
{
    if (u->next_id == u->n_ids)
        get_ids(u);
    u32 id = u->ids[u->next_id++];
    u64 n;
    if (!id)
        return "has a bad sequence of records";
    if (!u->done && id != RECORD_state)
        return "does not begin with a state record";
    if (!u->exits[id].group) {
        const char *fault = meet_packed(u, id);
        if (fault)
            return fault;
    }
    n = u->exits[id].slots;
    if (id == RECORD_partial && (!column_get(&u->lengths, &u->arena, &n) || n > RECORD_SLOT_LIMIT))
        return "has a partial record without a length";
    *(u32_anywhere *)(void *)(to + *at) = id << RECORD_ID_SHIFT | (u32)n;
    note_row(u, u->exits[id].group - 1, *at + RECORD_SLOTS_AT, (u32)n);
    *at += RECORD_SLOTS_AT + 8 * n;
    u->done++;
    return NULL;
}

s64 unpack_some(struct unpack *u, u8 *to, size_t room, const char **fault)
{
    size_t at = 0;
    *fault = NULL;
    check(room < 1 << 24);
    while (u->done < u->head.records && room - at >= RECORD_LIMIT && !*fault)
        *fault = next_record(u, to, &at);
    for (size_t i = 0; i < u->touched.n && !*fault; i++)
        if (!get_rows(u, &u->groups.v[u->touched.v[i]], to))
            *fault = "has a column that ends too early";
    u->touched.n = 0;
    if (!at && !*fault)
        *fault = left_over(u);
    return *fault ? -1 : (s64)at;
}
