/* SPDX-License-Identifier: MIT */
/* Packing and unpacking side by side. */
#include "decode/pack.h"
#include "base/number.h"
#include "decode/decode.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    RUN_LIMIT = 1 << 20,      /* entries of all columns: 16 MB in memory, a few MB in the file */
    RECORDS_LIMIT = 1u << 31, /* runs are counted in 32 bits */
    CODE_NEW = PACK_WAYS,     /* codes from here on are differences of ids */
    HEAD_BYTES = sizeof(struct pack_head),
    STATE_HEADER = RECORD_state << RECORD_ID_SHIFT | RECORD_state_slots,
};

static const u8 guest_slots[FIRST_EXIT_ID] = {
#define RECORD(name, number, slots, what) [number] = slots,
#include "wire/records.def"
#undef RECORD
};

/* -- The sequence of ids ----------------------------------------------------------------------- */

static inline u32 *foreseen(struct pack_context *c)
{
    u32 h = c->before[0] * 0x9e3779b1u ^ c->before[1] * 0x85ebca6bu ^ c->before[2] * 0xc2b2ae35u;
    return &c->follow[h >> (32 - PACK_FOLLOW_BITS)];
}

static inline void went_on(struct pack_context *c, u32 id)
{
    c->before[2] = c->before[1];
    c->before[1] = c->before[0];
    c->before[0] = id;
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

/* Which way it is: its number, or PACK_WAYS if it is new and is now known as far as there is room. */
static u32 find_way(struct pack_ways *w, u32 id)
{
    u32 k = 0;
    for (; k < PACK_WAYS && w->id[k]; k++)
        if (w->id[k] == id)
            return k;
    if (k < PACK_WAYS)
        w->id[k] = id;
    return PACK_WAYS;
}

/* -- Records by group --------------------------------------------------------------------------- */

typedef u32 u32_anywhere __attribute__((aligned(1), may_alias));
typedef u64 u64_anywhere __attribute__((aligned(1), may_alias));

/* Begin anew, with room for as many records as so many bytes can hold. */
static void rows_clear(struct pack_rows *r, size_t size)
{
    size_t most = size / RECORD_SLOTS_AT + 1;
    check(size < 1 << 24);
    if (most > r->records.cap) {
        (void)vec_grow(&r->records, most);
        r->sorted = realloc(r->sorted, r->records.cap * sizeof *r->sorted);
        check(r->sorted != NULL);
    }
    r->records.n = r->touched.n = 0;
}

static void rows_fini(struct pack_rows *r)
{
    vec_fini(&r->records);
    vec_fini(&r->touched);
    free(r->sorted);
}

static inline void rows_add(struct pack_rows *r, u32 group, size_t at, u32 slots)
{
    r->records.v[r->records.n++] = (struct pack_row){group, (u32)at << 8 | slots};
}

/* Sort them, keeping their order within each group. */
static void rows_sort(struct pack_rows *r, struct pack_group *groups)
{
    u32 row = 0;
    for (size_t i = 0; i < r->records.n; i++)
        if (!groups[r->records.v[i].group].rows++)
            vec_push(&r->touched, r->records.v[i].group);
    for (size_t i = 0; i < r->touched.n; i++) {
        struct pack_group *g = &groups[r->touched.v[i]];
        g->row = row;
        row += g->rows;
    }
    for (size_t i = 0; i < r->records.n; i++)
        r->sorted[groups[r->records.v[i].group].row++] = r->records.v[i].at;
}

/* -- Packing: what an id means ----------------------------------------------------------------- */

struct pack *pack_new(const struct unit_table *t)
{
    struct pack *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->table = t;
    p->context = calloc(1, sizeof *p->context);
    check(p->context != NULL);
    return p;
}

void pack_free(struct pack *p)
{
    if (!p)
        return;
    columns_fini(&p->shared);
    vec_fini(&p->columns);
    vec_fini(&p->groups);
    vec_fini(&p->exits);
    vec_fini(&p->ways);
    rows_fini(&p->rows);
    vec_fini(&p->context->ways);
    free(p->context);
    free(p);
}

/* A group and its columns; its number, + 1. */
static u32 add_group(struct pack *p, u32 number, u32 n, u32 least)
{
    u32 column = (u32)p->columns.n;
    if (n)
        memset(vec_grow(&p->columns, n), 0, n * sizeof(struct column));
    vec_push(&p->groups,
             ((struct pack_group){.number = number, .column = column, .n = n, .least = least}));
    return (u32)p->groups.n;
}

/* All exits of a unit share its columns. */
static void meet_unit(struct pack *p, u32 unit)
{
    const struct unit_table *t = p->table;
    const struct unit *u = &t->units.v[unit];
    const struct unit_exit *x = &t->exits.v[u->exit0];
    u32 most = 0, least = UINT32_MAX;
    for (u32 i = 0; i < u->n_exits; i++) {
        most = MAX(most, (u32)x[i].slots);
        least = MIN(least, (u32)x[i].slots);
    }
    u32 group = add_group(p, FIRST_EXIT_ID + unit, most, least);
    for (u32 i = 0; i < u->n_exits; i++)
        p->exits.v[FIRST_EXIT_ID + u->exit0 + i] =
            (struct pack_exit){.rsp_disp = x[i].rsp_disp,
                               .group = group,
                               .insns = x[i].insns,
                               .slots = x[i].slots,
                               .rsp_term = x[i].rsp_term,
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
    u32 slots = guest_slots[id], least = id == RECORD_partial ? 0 : slots;
    if (slots == 0)
        return "has an unknown number";
    u32 group = add_group(p, id, slots, least);
    p->exits.v[id] = (struct pack_exit){.group = group, .slots = (u8)slots};
    return NULL;
}

/* -- Packing: one record ----------------------------------------------------------------------- */

static __attribute__((noinline)) void put_new_id(struct pack *p, u32 id)
{
    struct pack_context *c = p->context;
    u32 way = find_way(ways_of(c, &p->ways.v[c->before[0]]), id);
    column_put_plain(&p->shared, &p->runs, p->run);
    column_put_plain(&p->shared, &p->codes,
                     way < PACK_WAYS ? way : CODE_NEW + zigzag((u64)id - c->before[0]));
    p->run = 0;
}

static inline void put_id(struct pack *p, u32 id)
{
    u32 *next = foreseen(p->context);
    if (*next == id) {
        p->run++;
    } else {
        put_new_id(p, id);
        *next = id;
    }
    went_on(p->context, id);
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

static inline void carry(struct pack *p, const struct pack_exit *x, const u8 *slots)
{
    u64 term = x->rsp_term == TERM_RSP  ? p->rsp
               : x->rsp_term < x->slots ? slot(slots, x->rsp_term)
                                        : 0;
    p->rsp = term + (u64)x->rsp_disp;
    p->dropping = x->plain;
    p->head.instructions += x->insns;
}

/* Note what a guest record tells besides its slots. */
static void take_guest_record(struct pack *p, u32 id, const u8 *slots, u32 n)
{
    p->dropping = false;
    if (id == RECORD_state) {
        p->rsp = slot(slots, 0);
        p->fs = slot(slots, 1);
        p->gs = slot(slots, 2);
    }
    if (id == RECORD_partial) {
        column_put_plain(&p->shared, &p->lengths, n);
        p->head.instructions += n ? partial_of(slot(slots, 0)).insns : 0;
    } else {
        p->head.last = slot(slots, n - 1); /* the time stamp is always the last */
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

/* Take a record, all but its slots: these are put down for later. */
static inline const char *take_record(struct pack *p, u32 id, const u8 *slots, u32 n, size_t at)
{
    if (id >= p->exits.n || !p->exits.v[id].group) {
        const char *fault = meet(p, id);
        if (fault)
            return fault;
    }
    const struct pack_exit *x = &p->exits.v[id];
    if (n != x->slots && id != RECORD_partial)
        return "has another number of slots than its exit";
    rows_add(&p->rows, x->group - 1, at, n);
    put_id(p, id);
    if (id < FIRST_EXIT_ID)
        take_guest_record(p, id, slots, n);
    else
        carry(p, x, slots);
    p->head.records++;
    p->head.bytes += RECORD_SLOTS_AT + 8 * (u64)n;
    return NULL;
}

/* -- Packing: a buffer ------------------------------------------------------------------------- */

/* Slot k of these records goes to the column. With `all`, each of them has it. As column_put, with the column's state in
 * registers. */
static inline void put_rows(struct pack *p, struct column *c, const u8 *data, const u32 *rows,
                            u32 n, u32 k, bool all)
{
    u64 last = c->last, open = c->step;
    u32 count = c->count;
    for (u32 i = 0; i < n; i++) {
        if (!all && k >= (rows[i] & 0xff))
            continue;
        u64 x = slot(data + (rows[i] >> 8), k), step = x - last;
        last = x;
        if (step != open) {
            c->step = open;
            c->count = count;
            if (count)
                column_close_run(&p->shared, c);
            open = step;
            count = 0;
        }
        count++;
    }
    c->last = last;
    c->step = open;
    c->count = count;
}

static void put_group(struct pack *p, struct pack_group *g, const u8 *data)
{
    const u32 *rows = &p->rows.sorted[g->row - g->rows];
    struct column *c = &p->columns.v[g->column];
    for (u32 k = 0; k < g->least; k++)
        put_rows(p, &c[k], data, rows, g->rows, k, true);
    for (u32 k = g->least; k < g->n; k++)
        put_rows(p, &c[k], data, rows, g->rows, k, false);
    g->rows = 0;
}

/* First the sequence of records, then, group by group, their slots: a column is at hand only once in each buffer, and what
 * is not foreseen in one does not hold up the others. */
int pack_records(struct pack *p, const u8 *data, size_t size, struct err *e)
{
    const char *fault = NULL;
    rows_clear(&p->rows, size);
    for (size_t at = 0; at + RECORD_SLOTS_AT <= size;) {
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
            fault = take_record(p, id, slots, n, at + RECORD_SLOTS_AT);
        if (fault)
            break;
        at += length;
    }
    rows_sort(&p->rows, p->groups.v);
    for (size_t i = 0; i < p->rows.touched.n; i++)
        put_group(p, &p->groups.v[p->rows.touched.v[i]], data);
    return fault ? err_set(e, "a record %s", fault) : 0;
}

bool pack_is_full(const struct pack *p)
{
    return p->shared.n_runs >= RUN_LIMIT || p->head.records >= RECORDS_LIMIT;
}

/* -- Packing: the contents --------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    u32 x = ((const struct pack_group *)a)->number, y = ((const struct pack_group *)b)->number;
    return x < y ? -1 : x > y;
}

/* Which groups there are, how many columns each has, and how long these are; then the columns. */
static void store_groups(struct pack *p, struct store_bytes *to)
{
    struct column numbers = {0}, counts = {0}, sizes = {0};
    struct store_bytes columns = {0};
    qsort(p->groups.v, p->groups.n, sizeof *p->groups.v, by_number);
    for (size_t i = 0; i < p->groups.n; i++) {
        const struct pack_group *g = &p->groups.v[i];
        column_put(&p->shared, &numbers, g->number);
        column_put_plain(&p->shared, &counts, g->n);
        for (u32 k = 0; k < g->n; k++) {
            size_t before = columns.n;
            column_store(&p->shared, &p->columns.v[g->column + k], &columns);
            column_put_plain(&p->shared, &sizes, columns.n - before);
        }
    }
    bytes_put_number(to, p->groups.n);
    column_store_sized(&p->shared, &numbers, to);
    column_store_sized(&p->shared, &counts, to);
    column_store_sized(&p->shared, &sizes, to);
    if (columns.n)
        memcpy(vec_grow(to, columns.n), columns.v, columns.n);
    vec_fini(&columns);
}

void pack_store(struct pack *p, struct store_bytes *to)
{
    column_put_plain(&p->shared, &p->runs, p->run);
    memcpy(vec_grow(to, HEAD_BYTES), &p->head, HEAD_BYTES);
    column_store_sized(&p->shared, &p->runs, to);
    column_store_sized(&p->shared, &p->codes, to);
    column_store_sized(&p->shared, &p->lengths, to);
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
    vec_push(&u->groups, ((struct pack_group){
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
    rows_fini(&u->rows);
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
    struct pack_ways *w = ways_of(c, &u->ways[c->before[0]]);
    u64 id = code < PACK_WAYS ? w->id[code] : c->before[0] + unzigzag(code - CODE_NEW);
    if (id == 0 || id >= FIRST_EXIT_ID + (u64)u->n_exits)
        return 0;
    if (code >= PACK_WAYS)
        find_way(w, (u32)id);
    return (u32)id;
}

static u32 get_id(struct unpack *u)
{
    struct pack_context *c = u->context;
    u32 *next = foreseen(c), id = *next;
    if (u->run)
        u->run--;
    else if (!(id = *next = get_new_id(u)) || !column_get(&u->runs, &u->arena, &u->run))
        return 0;
    went_on(c, id);
    return id;
}

static const char *meet_packed(struct unpack *u, u32 id)
{
    bool guest = id < FIRST_EXIT_ID;
    u32 number = guest ? id : FIRST_EXIT_ID + u->table->exits.v[id - FIRST_EXIT_ID].unit;
    u32 slots = guest ? guest_slots[id] : u->table->exits.v[id - FIRST_EXIT_ID].slots;
    u32 group = u->group_of[number];
    if (!group || slots > u->groups.v[group - 1].n || (guest && !slots))
        return "has a record without columns for its slots";
    u->exits[id] = (struct unpack_exit){group, slots};
    return NULL;
}

/* The opposite of put_rows; false if the column ends too early. */
static bool get_rows(struct unpack *u, struct column_reader *c, u8 *to, const u32 *rows, u32 n,
                     u32 k)
{
    for (u32 i = 0; i < n; i++) {
        u64 x;
        if (k >= (rows[i] & 0xff))
            continue;
        if (!column_get(c, &u->arena, &x))
            return false;
        ((u64_anywhere *)(void *)(to + (rows[i] >> 8)))[k] = x;
    }
    return true;
}

static bool get_group(struct unpack *u, struct pack_group *g, u8 *to)
{
    const u32 *rows = &u->rows.sorted[g->row - g->rows];
    bool good = true;
    for (u32 k = 0; k < g->n && good; k++) {
        struct column_reader c = u->columns.v[g->column + k];
        good = get_rows(u, &c, to, rows, g->rows, k);
        u->columns.v[g->column + k] = c;
    }
    g->rows = 0;
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
    u32 id = get_id(u);
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
    rows_add(&u->rows, u->exits[id].group - 1, *at + RECORD_SLOTS_AT, (u32)n);
    *at += RECORD_SLOTS_AT + 8 * n;
    u->done++;
    return NULL;
}

s64 unpack_some(struct unpack *u, u8 *to, size_t room, const char **fault)
{
    size_t at = 0;
    *fault = NULL;
    rows_clear(&u->rows, room);
    while (u->done < u->head.records && room - at >= RECORD_LIMIT && !*fault)
        *fault = next_record(u, to, &at);
    rows_sort(&u->rows, u->groups.v);
    for (size_t i = 0; i < u->rows.touched.n && !*fault; i++)
        if (!get_group(u, &u->groups.v[u->rows.touched.v[i]], to))
            *fault = "has a column that ends too early";
    if (!at && !*fault)
        *fault = left_over(u);
    return *fault ? -1 : (s64)at;
}
