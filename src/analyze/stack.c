/* SPDX-License-Identifier: MIT */
/* The LRU stack. */
#include "analyze/stack.h"
#include "base/err.h"

#include <stdlib.h>

enum {
    FIRST_TIMES = 1 << 16,
    TIMES_PER_LINE = 4,  /* at least: most are free when lines have been numbered anew */
    TOGETHER = 32,       /* lines that are looked for at once, so that none waits for memory alone */
    AHEAD = 16,          /* ... in a list */
    LEAST_LIMIT = 1 << 13,
    LIMIT_BYTES = 66,    /* for each line: two tables of two slots, while one is made of the other; and marks */
};

void stack_init(struct stack *k, u32 sample, u32 limit, struct fars *fars)
{
    *k = (struct stack){.sample = sample, .limit = limit, .fars = fars, .fast = marks_are_fast()};
    stamps_init(&k->stamps, sample || limit);
    marks_init(&k->marks, FIRST_TIMES);
}

void stack_fini(struct stack *k)
{
    stamps_fini(&k->stamps);
    marks_fini(&k->marks);
}

u32 stack_limit(u64 bytes)
{
    u64 limit = LEAST_LIMIT;
    if (limit * LIMIT_BYTES > bytes)
        return 0;
    while (2 * limit * LIMIT_BYTES <= bytes && limit < 1u << 28)
        limit *= 2;
    return (u32)limit;
}

/* -- Time --------------------------------------------------------------------------------------- */

static void renumber(void *marks, u64 line, u32 *stamp)
{
    (void)line;
    *stamp = marks_before(marks, *stamp - 1) + 1;
}

/* Let there be n more times. */
static void make_time(struct stack *k, u32 n)
{
    struct marks *m = &k->marks;
    if (n <= m->capacity - m->now)
        return;
    u32 lines = m->n;
    u64 capacity = m->capacity;
    while (capacity < TIMES_PER_LINE * ((u64)lines + n) && capacity < MARKS_LIMIT)
        capacity *= 2;
    check(n <= capacity - lines);
    stamps_each(&k->stamps, renumber, m);
    if (capacity == m->capacity) {
        marks_reset(m, lines);
        return;
    }
    marks_fini(m);
    marks_init(m, capacity);
    marks_push_many(m, lines);
}

/* -- Counting ----------------------------------------------------------------------------------- */

static __attribute__((noinline)) void note_far(struct stack *k, u32 id, u64 d)
{
    fars_count(k->fars, id, d, 1ull << k->sample);
}

/* A line at such a depth, or DISTANCE_COLD, has been touched. */
static inline void count(struct stack *k, u64 line, u32 id, u64 d)
{
    u32 group = line_group(line, k->sample);
    if (d == (u64)DISTANCE_COLD) {
        k->distances.cold[group] += 1ull << k->sample;
        k->seen++;
    } else {
        d <<= k->sample;
        distances_count(&k->distances, group, d, 1ull << k->sample);
    }
    if (k->fars && d >= k->fars->limits->least[0])
        note_far(k, id, d);
}

/* The depth of a line with this stamp; it leaves its place. */
MARKS_INLINE u64 leave(struct stack *k, u32 stamp)
{
    return stamp ? marks_remove(&k->marks, stamp - 1) : (u64)DISTANCE_COLD;
}

/* -- Spans -------------------------------------------------------------------------------------- */

/* Some lines of a span, `before` others of which are on top of the stack already, without marks as yet. Each step asks for the memory
 * that the next will want. */
MARKS_INLINE void take_lines(struct stack *k, const struct span_line *v, u32 n, u32 before)
{
    u32 *stamp[TOGETHER], was[TOGETHER];
    stamps_reserve(&k->stamps, TOGETHER);
    for (u32 i = 0; i < n; i++)
        __builtin_prefetch(stamps_home(&k->stamps, v[i].line));
    for (u32 i = 0; i < n; i++) {
        stamp[i] = stamps_of(&k->stamps, v[i].line);
        __builtin_prefetch(stamp[i], 1);
    }
    for (u32 i = 0; i < n; i++) {
        was[i] = *stamp[i];
        __builtin_prefetch(&k->marks.bits[was[i] / MARKS_BLOCK], 1);
        __builtin_prefetch(marks_number(&k->marks, 0, was[i] / MARKS_BLOCK), 1);
    }
    for (u32 i = 0; i < n; i++) {
        u64 d = leave(k, was[i]);
        *stamp[i] = k->marks.now + v[i].rank + 1;
        count(k, v[i].line, v[i].id, d == (u64)DISTANCE_COLD ? d : d + before + i);
    }
}

MARKS_INLINE void take_span(struct stack *k, const struct span_line *v, u32 n)
{
    for (u32 i = 0; i < n; i += TOGETHER)
        take_lines(k, v + i, MIN(n - i, (u32)TOGETHER), i);
    marks_push_many(&k->marks, n);
}

static void span_plain(struct stack *k, const struct span_line *v, u32 n)
{
    take_span(k, v, n);
}

static MARKS_FAST void span_fast(struct stack *k, const struct span_line *v, u32 n)
{
    take_span(k, v, n);
}

/* -- Lists -------------------------------------------------------------------------------------- */

static void drop_unsampled(void *stack, u64 line, u32 *stamp)
{
    struct stack *k = stack;
    if (line_is_sampled(line, k->sample))
        return;
    marks_remove(&k->marks, *stamp - 1);
    *stamp = 0;
}

/* Keep half of the lines. */
static void thin(struct stack *k)
{
    store_relaxed(&k->sample, k->sample + 1);
    stamps_each(&k->stamps, drop_unsampled, k);
    stamps_tidy(&k->stamps);
}

MARKS_INLINE void take_access(struct stack *k, const struct access *a)
{
    if (!line_is_sampled(a->line, k->sample)) /* it was when it was listed */
        return;
    make_time(k, 1);
    stamps_reserve(&k->stamps, 1);
    u32 *stamp = stamps_of(&k->stamps, a->line);
    count(k, a->line, a->id, leave(k, *stamp));
    *stamp = marks_push(&k->marks) + 1;
    while (k->marks.n > k->limit)
        thin(k);
}

MARKS_INLINE void take_list(struct stack *k, const struct access *a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        __builtin_prefetch(stamps_home(&k->stamps, a[MIN(i + AHEAD, n - 1)].line));
        take_access(k, &a[i]);
    }
}

static void list_plain(struct stack *k, const struct access *a, size_t n)
{
    take_list(k, a, n);
}

static MARKS_FAST void list_fast(struct stack *k, const struct access *a, size_t n)
{
    take_list(k, a, n);
}

void stack_take(struct stack *k, const struct spans *s)
{
    distances_add(&k->distances, &s->near);
    for (size_t i = 0; i < s->list.n; i++) {
        const struct span *x = &s->list.v[i];
        make_time(k, x->n);
        (k->fast ? span_fast : span_plain)(k, s->lines.v + x->first, x->n);
    }
    (k->fast ? list_fast : list_plain)(k, s->accesses.v, s->accesses.n);
}
