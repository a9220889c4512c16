/* SPDX-License-Identifier: MIT */
/* Columns, made and read. Folding is the only part that is not obvious.
 *
 * Entries stand in prefix order: a loop, then its body. An item is a plain entry or a loop with all that is in it, so
 * items are equal if their entries are. One pass over the items finds stretches in which each item equals the one
 * `period` before it; three rounds or more become a loop. The next pass sees that loop as one item, and so finds the
 * loop around it. A pass is linear: the candidate for a period is the distance to the last item with the same hash. */
#include "store/column.h"
#include "base/err.h"
#include "base/number.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_BYTES = 64,     /* that a column has room for, at first; then four times as much */
    FOLD_FROM = 4 << 10,  /* bytes before the first attempt to fold */
    BLOCK = 64 << 10,     /* bytes that are not tried any more */
    RUNS_LIMIT = 1 << 15, /* entries that are not */
    LONG_MATCH = 48,      /* entries that come back in a row and are no chance */
    JOIN_REACH = 16,      /* items that are looked back upon for a loop that goes on */
    SETTLE_LIMIT = 256,   /* entries in the body of a loop that is moved */
    LONG_BODY = 16,       /* a body so long pays with the second round */
    /* So many times smaller must folding make a column: it takes ten times as long as what zstd does with what comes back. Of a
     * long body only a few rounds are seen, however many will come. */
    WORTH = 16,
    WORTH_LATE = 3,
};

/* -- Folding ----------------------------------------------------------------------------------- */

struct item {
    u32 start; /* its first entry */
    u32 hash;
};

/* One pass over a column. */
struct fold {
    const struct column_run *in;
    struct item *items; /* and one more, where the entries end */
    u32 n_items;
    struct column_run *out;
    u32 n_out;
    u32 *tops; /* where in `out` the items begin */
    u32 n_tops;
    u32 near;         /* how many items may still be put before the latest loop is out of reach */
    u32 next;         /* the first item that is not in `out` */
    u32 depth;        /* how deep loops may become; 0 to look and not to fold */
    u32 long_matches; /* items in long stretches */
};

static u32 fold_all(struct column_run *runs, u32 n, u32 depth);

static u32 hash_run(u32 h, const struct column_run *r)
{
    u64 x = (r->step ^ (u64)r->body << 32 ^ h) * 0x9e3779b97f4a7c15ull;
    return (u32)((x ^ r->count) * 0xd6e8feb86659fd93ull >> 32);
}

static u32 entries_of(const struct column_run *r)
{
    return 1 + r->body;
}

static void list_items(struct fold *f, u32 n)
{
    u32 at = 0;
    for (; at < n; f->n_items++) {
        struct item *i = &f->items[f->n_items];
        *i = (struct item){.start = at};
        for (u32 end = at + entries_of(&f->in[at]); at < end; at++)
            i->hash = hash_run(i->hash, &f->in[at]);
    }
    f->items[f->n_items].start = at;
}

static bool same_entries(const struct column_run *a, const struct column_run *b, u32 n)
{
    return memcmp(a, b, n * sizeof *a) == 0;
}

/* Take back what is in `out` from here on. */
static void cut(struct fold *f, u32 at)
{
    while (f->n_tops && f->tops[f->n_tops - 1] >= at)
        f->n_tops--;
    f->n_out = at;
}

/* The n entries behind a loop: are they another loop with the same body, or one more round of it? Then they become
 * part of it. */
static bool join_to(struct fold *f, struct column_run *l, u32 n)
{
    const struct column_run *tail = l + entries_of(l);
    bool is_round = n == l->body && same_entries(l + 1, tail, n);
    bool is_loop =
        n == entries_of(l) && tail->body == l->body && same_entries(l + 1, tail + 1, l->body);
    u64 count = (u64)l->count + (is_loop ? tail->count : 1);
    if (!(is_round || is_loop) || count > UINT32_MAX)
        return false;
    l->count = (u32)count;
    cut(f, f->n_out - n);
    return true;
}

/* Join the last items to a loop not far before them. */
static bool join(struct fold *f)
{
    u32 end = f->n_tops, far = end > JOIN_REACH ? end - JOIN_REACH : 0;
    for (u32 i = end - 1; i-- > far;) {
        struct column_run *l = &f->out[f->tops[i]];
        if (l->body && join_to(f, l, f->n_out - f->tops[i] - entries_of(l)))
            return true;
    }
    return false;
}

/* How many entries the last of these items has. */
static u32 last_item(const struct column_run *r, u32 n)
{
    u32 size = 0;
    for (u32 i = 0; i < n; i += size)
        size = entries_of(&r[i]);
    return size;
}

/* The last item is a loop. Let it begin as early as it can, so that the same numbers always give the same entries: an
 * item before it that equals the last of its body moves in, and the last of its body moves out behind it. */
static void settle(struct fold *f)
{
    u32 at = f->tops[--f->n_tops], body = f->out[at].body, behind = f->n_out;
    while (f->n_tops && body <= SETTLE_LIMIT) {
        u32 n = at - f->tops[f->n_tops - 1];
        if (n != last_item(&f->out[at + 1], body) ||
            !same_entries(&f->out[at - n], &f->out[behind - n], n))
            break;
        struct column_run head = f->out[at];
        memmove(&f->out[at - n + 1], &f->out[at - n], n * sizeof head);
        f->out[at - n] = head;
        at = f->tops[--f->n_tops];
        behind -= n;
        if (f->n_out - behind == body && head.count < UINT32_MAX) { /* a whole round has moved */
            f->out[at].count++;
            f->n_out = behind;
        }
    }
    f->tops[f->n_tops++] = at;
    for (u32 i = behind; i < f->n_out; i += entries_of(&f->out[i]))
        f->tops[f->n_tops++] = i;
    f->near = JOIN_REACH;
}

/* An item of n entries was put behind the others. */
static void append(struct fold *f, u32 n)
{
    u32 at = f->n_out;
    f->tops[f->n_tops++] = at;
    f->n_out += n;
    if (f->near && join(f))
        return;
    f->near -= f->near != 0;
    if (f->out[at].body) {
        settle(f);
        join(f);
    }
}

static void put_item(struct fold *f, u32 i)
{
    u32 from = f->items[i].start, n = f->items[i + 1].start - from;
    memcpy(&f->out[f->n_out], &f->in[from], n * sizeof *f->out);
    append(f, n);
}

/* How deep the loops among these entries are. */
static u64 depth_of(const struct column_run *r, u32 n)
{
    u64 depth = 0;
    for (u32 i = 0; i < n; i++)
        if (r[i].body)
            depth = MAX(depth, r[i].step);
    return depth;
}

/* Items first .. first + period - 1 come `rounds` times. A long period hides shorter ones: the body is folded as well. */
static void put_loop(struct fold *f, u32 first, u32 period, u32 rounds)
{
    u32 n = f->items[first + period].start - f->items[first].start;
    struct column_run *l = &f->out[f->n_out];
    memcpy(l + 1, &f->in[f->items[first].start], n * sizeof *l);
    n = fold_all(l + 1, n, f->depth - 1);
    *l = (struct column_run){.step = depth_of(l + 1, n) + 1, .count = rounds, .body = n};
    append(f, 1 + n);
}

/* The items from `first` on equal those `period` before them, `match` of them. Fold them if it pays. */
static void end_stretch(struct fold *f, u32 first, u32 period, u32 match)
{
    u32 begin = first - period;
    if (match >= LONG_MATCH)
        f->long_matches += match;
    if (begin < f->next) { /* the body's beginning went into an earlier loop */
        u32 gone = f->next - begin;
        if (gone >= match)
            return;
        begin += gone;
        first += gone;
        match -= gone;
    }
    /* As early as it can begin: so that the same loop always begins with the same item. */
    for (; begin > f->next && f->items[begin - 1].hash == f->items[first - 1].hash;
         begin--, first--)
        match++;
    u32 rounds = 1 + match / period;
    if (rounds < (period >= LONG_BODY ? 2u : 3u) || !f->depth)
        return;
    const struct column_run *a = &f->in[f->items[begin].start], *b = &f->in[f->items[first].start];
    u32 n = f->items[first + match].start - f->items[first].start;
    if (!same_entries(a, b, n) ||
        depth_of(a, f->items[first].start - f->items[begin].start) >= f->depth)
        return;
    while (f->next < begin)
        put_item(f, f->next++);
    put_loop(f, begin, period, rounds);
    f->next = begin + rounds * period;
}

static void find_stretches(struct fold *f)
{
    u32 mask = 63;
    while (mask < f->n_items && mask < (1u << 20) - 1)
        mask = 2 * mask + 1;
    u32 *seen =
        calloc(mask + 1ul, sizeof *seen); /* where, + 1, an item with this hash stood last */
    check(seen != NULL);
    u32 period = 0, match = 0, first = 0;
    const struct item *items = f->items;
    for (u32 i = 0; i < f->n_items; i++) {
        u32 h = items[i].hash, *last = &seen[h & mask];
        if (period && items[i - period].hash == h) {
            match++;
        } else {
            if (match)
                end_stretch(f, first, period, match);
            match = 0;
            period = 0;
            if (*last && items[*last - 1].hash == h) {
                period = i - (*last - 1);
                first = i;
                match = 1;
            }
        }
        *last = i + 1;
    }
    if (match)
        end_stretch(f, first, period, match);
    free(seen);
}

static void fold_begin(struct fold *f, const struct column_run *runs, u32 n, u32 depth)
{
    *f =
        (struct fold){.in = runs, .depth = depth, .items = malloc((n + 1ul) * sizeof(struct item))};
    check(f->items != NULL);
    list_items(f, n);
}

/* Does much of it come back in long stretches? Chance makes short ones everywhere, and folding them is not worth it. */
static bool is_regular(const struct column_run *runs, u32 n)
{
    struct fold f;
    if (n < LONG_MATCH)
        return false;
    fold_begin(&f, runs, n, 0);
    find_stretches(&f);
    free(f.items);
    return f.long_matches > n / 2;
}

/* One pass; the number of entries afterwards. */
static u32 fold_once(struct column_run *runs, u32 n, u32 depth)
{
    struct fold f;
    fold_begin(&f, runs, n, depth);
    f.out = malloc((n + 1ul) * sizeof(struct column_run));
    f.tops = malloc((n + 1ul) * sizeof(u32));
    check(f.out && f.tops);
    find_stretches(&f);
    while (f.next < f.n_items)
        put_item(&f, f.next++);
    memcpy(runs, f.out, f.n_out * sizeof *runs);
    free(f.items);
    free(f.out);
    free(f.tops);
    return f.n_out;
}

static u32 fold_all(struct column_run *runs, u32 n, u32 depth)
{
    u32 before;
    do {
        before = n;
        if (n > 2 && depth)
            n = fold_once(runs, n, depth);
    } while (n < before - before / 8);
    return n;
}

/* -- Entries as bytes -------------------------------------------------------------------------- */

enum { TAG_ONE, TAG_RUN, TAG_LOOP, FIRST_BITS = 5 };

/* A tag, and in the same bytes a number. */
static u8 *put_tagged(u8 *p, u32 tag, u64 x)
{
    u8 low = (u8)(tag | (x & ((1 << FIRST_BITS) - 1)) << COLUMN_TAG_BITS);
    x >>= FIRST_BITS;
    *p++ = x ? low | 0x80 : low;
    return x ? number_put(p, x) : p;
}

u8 *column_put_run(u8 *p, const struct column_run *r)
{
    if (r->body)
        return number_put(put_tagged(p, TAG_LOOP, r->body - 1), r->count - 2);
    if (r->count == 1)
        return put_tagged(p, TAG_ONE, zigzag(r->step));
    return number_put(put_tagged(p, TAG_RUN, zigzag(r->step)), r->count - 2);
}

/* The opposite, but for a loop, which has its depth only when it is made. False if there is no entry. */
static bool get_run(const u8 **at, const u8 *end, struct column_run *r)
{
    u8 first = *(*at)++;
    u32 tag = first & ((1 << COLUMN_TAG_BITS) - 1);
    u64 x = first >> COLUMN_TAG_BITS & ((1 << FIRST_BITS) - 1), more, count = 0;
    if (first & 0x80) {
        if (!number_get(at, end, &more))
            return false;
        x |= more << FIRST_BITS;
    }
    if (tag > TAG_LOOP || (tag != TAG_ONE && !number_get(at, end, &count)) ||
        count > UINT32_MAX - 2 || (tag == TAG_LOOP && x >= UINT32_MAX))
        return false;
    *r = (struct column_run){.step = unzigzag(x), .count = tag == TAG_ONE ? 1 : (u32)count + 2};
    if (tag == TAG_LOOP)
        r->body = (u32)x + 1;
    return true;
}

/* -- Folding what has come together ------------------------------------------------------------ */

/* Did the bytes before this place come earlier, too? */
static bool came_before(const struct column *c, const u8 *place)
{
    enum { LOOKED_FOR = 24 };
    size_t n = (size_t)(place - c->bytes);
    return n > 2 * LOOKED_FOR && memmem(c->bytes, n - 1, place - LOOKED_FOR, LOOKED_FOR);
}

/* Most columns that are irregular are found out by a look at two places. */
static bool comes_back(const struct column *c)
{
    return came_before(c, c->at) || came_before(c, c->at - (c->at - c->bytes) / 4);
}

/* The distance at which all bytes come back; 0 if there is none, or it is too long to be found so. */
static size_t period_of(const struct column *c)
{
    enum { LOOKED_FOR = 24 };
    size_t n = (size_t)(c->at - c->bytes);
    const u8 *place = c->bytes + n / 4, *again = n > 4 * LOOKED_FOR ? memmem(place + 1, n - n / 4 - 1, place, LOOKED_FOR) : NULL;
    size_t distance = again ? (size_t)(again - place) : 0;
    return distance && !memcmp(c->bytes, c->bytes + distance, n - distance) ? distance : 0;
}

/* Bytes as entries; 0 if the last one is not whole. */
static u32 runs_between(const u8 *at, const u8 *end, struct column_run *runs)
{
    u32 n = 0;
    while (at < end)
        if (!get_run(&at, end, &runs[n++]))
            return 0;
    return n;
}

/* The bytes at hand, which come back after this distance: a loop, and what is begun of its next round. *entries is how many there are
 * without it. Returns 0 if no entry ends there, or where there may be loops in the loop: so that these begin with the same entry, whatever is at hand, all
 * entries must be seen. */
static u32 runs_of_loop(const struct column *c, size_t distance, struct column_run *runs, u32 *entries)
{
    size_t n = (size_t)(c->at - c->bytes), rounds = n / distance;
    u32 body = runs_between(c->bytes, c->bytes + distance, runs + 1);
    if (rounds < 3 || !body || body > SETTLE_LIMIT || fold_all(runs + 1, body, COLUMN_DEPTH) < body)
        return 0;
    *runs = (struct column_run){.step = 1, .count = (u32)rounds, .body = body};
    u32 tail = runs_between(c->bytes + rounds * distance, c->at, runs + 1 + body);
    *entries = (u32)rounds * body + tail;
    return 1 + body + tail;
}

/* The runs, and the bytes behind them as runs; these stand for so many entries. */
static struct column_run *all_runs(const struct column *c, size_t period, u32 *n, u32 *entries)
{
    struct column_run *runs = malloc((c->n_runs + (size_t)(c->at - c->bytes) + 1) * sizeof *runs);
    check(runs != NULL);
    if (c->n_runs)
        memcpy(runs, c->runs, c->n_runs * sizeof *runs);
    u32 more = period ? runs_of_loop(c, period, runs + c->n_runs, entries) : 0;
    if (!more)
        *entries = more = runs_between(c->bytes, c->at, runs + c->n_runs);
    check(more || c->at == c->bytes);
    *n = c->n_runs + more;
    return runs;
}

static void keep_runs(struct columns *s, struct column *c, const struct column_run *runs, u32 n)
{
    if (n > c->cap) {
        c->cap = 2 * n;
        c->runs = arena_alloc(&s->arena, c->cap * sizeof *runs);
    }
    memcpy(c->runs, runs, n * sizeof *runs);
    c->n_runs = n;
    c->at = c->bytes;
}

/* Bytes that will not be folded any more, behind others. */
static void add_part(struct columns *s, struct column *c, const u8 *bytes, size_t n)
{
    struct column_part *x = arena_alloc(&s->arena, sizeof *x);
    *x = (struct column_part){.n = n, .bytes = bytes};
    *(c->parts ? &c->last_part->next : &c->parts) = x;
    c->last_part = x;
}

/* The runs become bytes, which stay as they are. */
static void retire_runs(struct columns *s, struct column *c)
{
    s->scratch.n = 0;
    u8 *p = vec_grow(&s->scratch, (size_t)c->n_runs * COLUMN_LONGEST);
    for (u32 i = 0; i < c->n_runs; i++)
        p = column_put_run(p, &c->runs[i]);
    size_t n = (size_t)(p - s->scratch.v);
    u8 *bytes = arena_alloc(&s->arena, n);
    memcpy(bytes, s->scratch.v, n);
    add_part(s, c, bytes, n);
    c->n_runs = 0;
}

/* What is at hand becomes runs, folded with those before it, if that makes it so many times smaller. */
static void fold(struct columns *s, struct column *c, u32 times)
{
    u32 n, entries, folded = UINT32_MAX;
    if (!c->n_runs && (s->n_bytes >= COLUMNS_REGULAR || !comes_back(c)))
        return;
    size_t period = period_of(c);
    struct column_run *runs = all_runs(c, period, &n, &entries);
    if (c->n_runs || period || is_regular(runs, n))
        folded = fold_all(runs, n, COLUMN_DEPTH);
    if (folded <= c->n_runs + entries / times)
        keep_runs(s, c, runs, folded);
    else
        c->settled = true;
    free(runs);
    if (c->n_runs && (c->settled || c->n_runs >= RUNS_LIMIT))
        retire_runs(s, c);
}

/* Room for four times as much, or for as much again behind what is too much to be tried once more. */
static void grow(struct columns *s, struct column *c)
{
    size_t n = (size_t)(c->at - c->bytes), room = 4 * (size_t)(c->end - c->bytes);
    s->n_bytes += n;
    room = MIN(MAX(room, (size_t)FIRST_BYTES), (size_t)BLOCK);
    if (n > BLOCK / 2) {
        c->settled = true;
        add_part(s, c, c->bytes, n);
        n = 0;
    }
    u8 *bytes = arena_alloc(&s->arena, room);
    if (n)
        memcpy(bytes, c->bytes, n);
    c->bytes = bytes;
    c->at = bytes + n;
    c->end = bytes + room;
}

void column_make_room(struct columns *s, struct column *c)
{
    size_t room = (size_t)(c->end - c->bytes);
    if ((room == FOLD_FROM || room == BLOCK) && !c->settled)
        fold(s, c, room == BLOCK ? WORTH_LATE : WORTH);
    if (c->end - c->at < COLUMN_LONGEST)
        grow(s, c);
}

void columns_clear(struct columns *s)
{
    arena_clear(&s->arena);
    s->n_bytes = 0;
}

void columns_fini(struct columns *s)
{
    arena_fini(&s->arena);
    vec_fini(&s->scratch);
    s->n_bytes = 0;
}

/* -- Storing ----------------------------------------------------------------------------------- */

size_t column_finish(struct columns *s, struct column *c)
{
    size_t size = 0;
    if (c->count)
        column_put_entry(s, c, c->step, c->count);
    c->count = 0;
    if (c->at > c->bytes && !c->settled)
        fold(s, c, c->n_runs ? 1 : WORTH);
    if (c->n_runs)
        retire_runs(s, c);
    for (const struct column_part *x = c->parts; x; x = x->next)
        size += x->n;
    return size + (size_t)(c->at - c->bytes);
}

void column_store(const struct column *c, struct store_bytes *to)
{
    size_t n = (size_t)(c->at - c->bytes);
    for (const struct column_part *x = c->parts; x; x = x->next)
        memcpy(vec_grow(to, x->n), x->bytes, x->n);
    if (n)
        memcpy(vec_grow(to, n), c->bytes, n);
}

void column_store_sized(struct columns *s, struct column *c, struct store_bytes *to)
{
    bytes_put_number(to, column_finish(s, c));
    column_store(c, to);
}

void bytes_put_number(struct store_bytes *b, u64 number)
{
    (void)vec_grow(b, NUMBER_BYTES);
    b->n = (size_t)(number_put(b->v + b->n - NUMBER_BYTES, number) - b->v);
}

/* -- Reading ----------------------------------------------------------------------------------- */

bool column_reader_sized(struct column_reader *r, const u8 **at, const u8 *end, bool plain)
{
    u64 size;
    if (!number_get(at, end, &size) || size > (u64)(end - *at))
        return false;
    column_reader_init(r, *at, size, plain);
    *at += size;
    return true;
}

void column_reader_init(struct column_reader *r, const u8 *bytes, size_t size, bool plain)
{
    *r = (struct column_reader){.at = bytes, .end = bytes + size, .plain = plain};
}

/* Leave the loops whose last round is over, and begin the next round of one that is not. */
static void end_rounds(struct column_reader *r)
{
    while (r->depth && !r->levels[r->depth - 1].left) {
        struct column_level *l = &r->levels[r->depth - 1];
        if (--l->rounds) {
            r->at = l->body;
            l->left = l->entries;
            return;
        }
        r->depth--;
    }
}

bool column_is_spent(const struct column_reader *r)
{
    if (r->left || r->at != r->end || r->refused)
        return false;
    for (u32 i = 0; i < r->depth; i++)
        if (r->levels[i].left || r->levels[i].rounds > 1)
            return false;
    return true;
}

/* Count entries off the innermost loop's round. */
static bool take_entries(struct column_reader *r, u64 n)
{
    if (!r->depth)
        return true;
    struct column_level *l = &r->levels[r->depth - 1];
    if (n > l->left)
        return false;
    l->left -= (u32)n;
    return true;
}

static bool enter_loop(struct column_reader *r, struct arena *a, u32 body, u32 rounds)
{
    if (r->depth == COLUMN_DEPTH || !take_entries(r, 1 + (u64)body))
        return false;
    if (!r->levels)
        r->levels = arena_alloc(a, COLUMN_DEPTH * sizeof *r->levels);
    r->levels[r->depth++] =
        (struct column_level){.body = r->at, .entries = body, .left = body, .rounds = rounds};
    return true;
}

/* Read the next entry; false if it is none. */
static bool next_entry(struct column_reader *r, struct arena *a)
{
    struct column_run x;
    if (!get_run(&r->at, r->end, &x))
        return false;
    if (x.body)
        return enter_loop(r, a, x.body, x.count);
    r->step = x.step;
    r->left = x.count;
    return take_entries(r, 1);
}

bool column_refill(struct column_reader *r, struct arena *a)
{
    while (!r->left) {
        end_rounds(r);
        if (r->at == r->end || r->refused)
            return false;
        if (!next_entry(r, a)) {
            r->refused = true;
            r->left = 0;
        }
    }
    return true;
}

/* The seven low bits of each byte, side by side. */
static u64 join_sevens(u64 x)
{
    x = (x & 0x007f007f007f007f) | (x & 0x7f007f007f007f00) >> 1;
    x = (x & 0x00003fff00003fff) | (x & 0x3fff00003fff0000) >> 2;
    return (x & 0x000000000fffffff) | (x & 0x0fffffff00000000) >> 4;
}

/* What irregular columns are made of: entries of one number each, of at most eight bytes. As many as there are in a row, up
 * to n; how many they were. Tag and difference of such an entry are one number as base/number.h has it. */
static u32 take_ones(struct column_reader *r, u64 *numbers, u32 n)
{
    struct column_level *l = r->depth ? &r->levels[r->depth - 1] : NULL;
    const u8 *at = r->at;
    u64 last = r->last;
    u32 i = 0;
    n = l ? MIN(n, l->left) : n;
    for (; i < n && r->end - at >= 8; i++) {
        u64 x;
        memcpy(&x, at, sizeof x);
        u64 stop = ~x & 0x8080808080808080;
        if ((x & 3) != TAG_ONE || !stop)
            break;
        x &= stop ^ (stop - 1); /* up to the last byte of this one */
        last += unzigzag(join_sevens(x & 0x7f7f7f7f7f7f7f7f) >> COLUMN_TAG_BITS);
        numbers[i] = last;
        at += ((u32)__builtin_ctzll(stop) >> 3) + 1;
    }
    if (l)
        l->left -= i;
    r->last = last;
    r->at = at;
    return i;
}

bool column_get_all(struct column_reader *r, struct arena *a, u64 *numbers, u32 n)
{
    while (n) {
        if (!r->left) {
            u32 ones = take_ones(r, numbers, n);
            numbers += ones;
            n -= ones;
            if (n && !column_refill(r, a))
                return false;
        }
        u32 m = MIN(r->left, n);
        for (u32 i = 0; i < m; i++)
            numbers[i] = r->last + (i + 1) * r->step;
        r->last += m * r->step;
        r->left -= m;
        numbers += m;
        n -= m;
    }
    return true;
}
