/* SPDX-License-Identifier: MIT */
/* Sequitur, on arrays.
 *
 * A rule's body is a ring of nodes around a guard. Nodes and rules are numbers into arrays, and those no longer needed
 * are used again, so the memory is that of the grammar, not of the sequence: 12 bytes for each of its symbols, and 8 to
 * 32 for each digram in the index. The index finds a digram by its two values; where the same one stands twice and
 * overlaps itself, it knows one of the two.
 *
 * What changes a neighbourhood takes the digrams it breaks out of the index and puts the nodes whose digrams are new
 * into `pending`. Nothing is checked before the rings are whole again, and checking a node once too often does no harm:
 * so no step has to foresee what the next one does to its nodes. When nothing is pending, digrams are unique. */
#include "analyze/sequitur.h"
#include "base/err.h"

#include <stdlib.h>

/* What a node stands for: a terminal, below RULE; RULE + a rule; or nothing in a body: GUARD + the rule whose ring it
 * closes, FREE. */
#define RULE  GRAMMAR_RULE
#define GUARD 0xc0000000u
#define FREE  0xffffffffu

struct node {
    u32 prev, next; /* of a free one: next is the next free one */
    u32 value;
};

struct rule {
    u32 guard; /* of one not in use: the next such */
    u32 uses;
};

struct sequitur {
    VEC(struct node) nodes;   /* the first is the guard of rule 0 */
    VEC(struct rule) rules;   /* the first is the sequence */
    u32 free_node, free_rule; /* 0: none */
    u64 *index; /* by the upper bits of a digram's hash: hash << 32 | its first node; 0 is empty */
    u32 shift;  /* the index has 1 << (32 - shift) entries */
    u32 n_digrams;
    VEC(u32) pending; /* nodes whose digrams may not be in the index */
};

static bool is_rule(u32 value)
{
    return value >> 30 == RULE >> 30;
}

static bool in_body(u32 value)
{
    return value < GUARD;
}

/* -- The index of digrams ---------------------------------------------------------------------- */

enum { FIRST_SHIFT = 32 - 10 };

static u32 digram_hash(u32 a, u32 b)
{
    return (u32)((a * 0x9e3779b97f4a7c15ull + b) * 0xd6e8feb86659fd93ull >> 32);
}

static u32 index_mask(const struct sequitur *s)
{
    return UINT32_MAX >> s->shift;
}

/* Room for one more digram: the index is at most three quarters full. */
static void index_reserve(struct sequitur *s)
{
    u32 size = index_mask(s) + 1, mask = 2 * size - 1;
    if (s->n_digrams < size - size / 4)
        return;
    u64 *larger = calloc(2ul * size, sizeof *larger);
    check(larger != NULL && s->shift > 1);
    s->shift--;
    for (u32 i = 0; i < size; i++) {
        u64 entry = s->index[i];
        u32 at = (u32)(entry >> 32) >> s->shift;
        if (!entry)
            continue;
        while (larger[at])
            at = (at + 1) & mask;
        larger[at] = entry;
    }
    free(s->index);
    s->index = larger;
}

/* The node where this node's digram is indexed; if it was not yet, it is now, at this node. */
static u32 index_put(struct sequitur *s, u32 n)
{
    u32 a = s->nodes.v[n].value, b = s->nodes.v[s->nodes.v[n].next].value;
    index_reserve(s);
    u32 hash = digram_hash(a, b), mask = index_mask(s), at = hash >> s->shift;
    for (u64 entry; (entry = s->index[at]); at = (at + 1) & mask) {
        if (entry >> 32 != hash)
            continue;
        u32 m = (u32)entry;
        if (s->nodes.v[m].value == a && s->nodes.v[s->nodes.v[m].next].value == b)
            return m;
    }
    s->index[at] = (u64)hash << 32 | n;
    s->n_digrams++;
    return n;
}

/* Empty an entry and move those behind it that could not stand where they belong. */
static void index_delete(struct sequitur *s, u32 at)
{
    u32 mask = index_mask(s);
    for (u32 i = (at + 1) & mask; s->index[i]; i = (i + 1) & mask) {
        u32 home = (u32)(s->index[i] >> 32) >> s->shift;
        if (((i - home) & mask) >= ((i - at) & mask)) {
            s->index[at] = s->index[i];
            at = i;
        }
    }
    s->index[at] = 0;
    s->n_digrams--;
}

static void await(struct sequitur *s, u32 n)
{
    vec_push(&s->pending, n);
}

/* A node's digram is about to go. Where it overlapped itself, one that is not indexed may stay. */
static void break_digram(struct sequitur *s, u32 n)
{
    struct node node = s->nodes.v[n];
    u32 a = node.value, b = s->nodes.v[node.next].value;
    if (!in_body(a) || !in_body(b))
        return;
    u32 hash = digram_hash(a, b), mask = index_mask(s), at = hash >> s->shift;
    u64 wanted = (u64)hash << 32 | n, entry;
    while ((entry = s->index[at]) && entry != wanted)
        at = (at + 1) & mask;
    if (!entry)
        return;
    index_delete(s, at);
    if (a == b) {
        await(s, node.prev);
        await(s, node.next);
    }
}

/* -- Nodes and rules --------------------------------------------------------------------------- */

static u32 new_node(struct sequitur *s, u32 value)
{
    u32 n = s->free_node;
    if (n) {
        s->free_node = s->nodes.v[n].next;
    } else {
        n = (u32)s->nodes.n;
        check(n < FREE);
        vec_push(&s->nodes, (struct node){0});
    }
    s->nodes.v[n].value = value;
    return n;
}

static void free_node(struct sequitur *s, u32 n)
{
    s->nodes.v[n] = (struct node){.next = s->free_node, .value = FREE};
    s->free_node = n;
}

static void join(struct sequitur *s, u32 left, u32 right)
{
    s->nodes.v[left].next = right;
    s->nodes.v[right].prev = left;
}

static u32 new_rule(struct sequitur *s)
{
    u32 r = s->free_rule;
    if (r) {
        s->free_rule = s->rules.v[r].guard;
    } else {
        r = (u32)s->rules.n;
        check(r < GUARD - RULE);
        vec_push(&s->rules, (struct rule){0});
    }
    u32 guard = new_node(s, GUARD + r);
    join(s, guard, guard);
    s->rules.v[r] = (struct rule){.guard = guard};
    return r;
}

static void free_rule(struct sequitur *s, u32 r)
{
    free_node(s, s->rules.v[r].guard);
    s->rules.v[r] = (struct rule){.guard = s->free_rule};
    s->free_rule = r;
}

static void drop_use(struct sequitur *s, u32 value)
{
    if (is_rule(value))
        s->rules.v[value - RULE].uses--;
}

/* -- The two constraints ------------------------------------------------------------------------ */

/* Put a use of rule r in the place of the digram at n, which is not in the index. */
static void substitute(struct sequitur *s, u32 n, u32 r)
{
    u32 second = s->nodes.v[n].next, before = s->nodes.v[n].prev;
    break_digram(s, before);
    break_digram(s, second);
    drop_use(s, s->nodes.v[n].value);
    drop_use(s, s->nodes.v[second].value);
    s->nodes.v[n].value = RULE + r;
    s->rules.v[r].uses++;
    join(s, n, s->nodes.v[second].next);
    free_node(s, second);
    await(s, n);
    await(s, before);
}

/* Make the digram at m the body of the new rule r, and put a use of it there. The digram stays in the index. */
static void extract(struct sequitur *s, u32 m, u32 r)
{
    u32 second = s->nodes.v[m].next, before = s->nodes.v[m].prev, guard = s->rules.v[r].guard;
    break_digram(s, before);
    break_digram(s, second);
    u32 use = new_node(s, RULE + r);
    s->rules.v[r].uses++;
    join(s, before, use);
    join(s, use, s->nodes.v[second].next);
    join(s, guard, m);
    join(s, second, guard);
    await(s, use);
    await(s, before);
}

/* Put a rule's body in the place of its only use. */
static void expand(struct sequitur *s, u32 n)
{
    u32 r = s->nodes.v[n].value - RULE, guard = s->rules.v[r].guard;
    u32 before = s->nodes.v[n].prev, after = s->nodes.v[n].next;
    u32 first = s->nodes.v[guard].next, last = s->nodes.v[guard].prev;
    break_digram(s, before);
    break_digram(s, n);
    join(s, before, first);
    join(s, last, after);
    free_node(s, n);
    free_rule(s, r);
    await(s, last);
    await(s, before);
}

static void expand_if_used_once(struct sequitur *s, u32 n)
{
    u32 value = s->nodes.v[n].value;
    if (is_rule(value) && s->rules.v[value - RULE].uses == 1)
        expand(s, n);
}

/* The rule whose whole body is the digram at n, or 0. */
static u32 rule_of(const struct sequitur *s, u32 n)
{
    const struct node *v = s->nodes.v;
    u32 guard = v[n].prev;
    if (in_body(v[guard].value) || v[v[v[n].next].next].value != v[guard].value)
        return 0;
    return v[guard].value - GUARD;
}

/* The same digram stands at m, where it is indexed, and at n: make both one rule. What the digram is made of is used
 * less then. Only its first symbol can be left with a single use, in that rule: the second has just come to n. */
static void unify(struct sequitur *s, u32 m, u32 n)
{
    u32 r = rule_of(s, m);
    if (r) {
        substitute(s, n, r);
    } else {
        r = new_rule(s);
        substitute(s, n, r);
        extract(s, m, r);
    }
    expand_if_used_once(s, s->nodes.v[s->rules.v[r].guard].next);
}

static void check_digram(struct sequitur *s, u32 n)
{
    if (!in_body(s->nodes.v[n].value) || !in_body(s->nodes.v[s->nodes.v[n].next].value))
        return;
    u32 m = index_put(s, n);
    bool overlap = s->nodes.v[m].next == n || s->nodes.v[n].next == m;
    if (m != n && !overlap)
        unify(s, m, n);
}

void sequitur_put(struct sequitur *s, u32 symbol)
{
    check(symbol < RULE);
    u32 n = new_node(s, symbol), last = s->nodes.v[0].prev;
    join(s, last, n);
    join(s, n, 0);
    check_digram(s, last);
    while (s->pending.n)
        check_digram(s, s->pending.v[--s->pending.n]);
}

/* -- The whole --------------------------------------------------------------------------------- */

struct sequitur *sequitur_new(void)
{
    struct sequitur *s = calloc(1, sizeof *s);
    check(s != NULL);
    s->shift = FIRST_SHIFT;
    s->index = calloc(index_mask(s) + 1ul, sizeof *s->index);
    check(s->index != NULL);
    new_rule(s);
    return s;
}

void sequitur_free(struct sequitur *s)
{
    if (!s)
        return;
    vec_fini(&s->nodes);
    vec_fini(&s->rules);
    vec_fini(&s->pending);
    free(s->index);
    free(s);
}

u64 sequitur_memory(const struct sequitur *s)
{
    return s->nodes.cap * sizeof *s->nodes.v + s->rules.cap * sizeof *s->rules.v +
           s->pending.cap * sizeof *s->pending.v + (index_mask(s) + 1ull) * sizeof *s->index;
}

/* Append a rule to the grammar; those it names are there. */
static void write_rule(const struct sequitur *s, u32 r, u32 *numbers, struct grammar *g)
{
    u32 guard = s->rules.v[r].guard;
    numbers[r] = (u32)g->rules.n;
    grammar_begin_rule(g);
    for (u32 n = s->nodes.v[guard].next; n != guard; n = s->nodes.v[n].next) {
        u32 value = s->nodes.v[n].value;
        grammar_push(g, is_rule(value) ? RULE + numbers[value - RULE] : value);
    }
}

/* Each rule is written when all that it names are, the start last. */
void sequitur_grammar(const struct sequitur *s, struct grammar *g)
{
    *g = (struct grammar){0};
    VEC(u32) open = {0}; /* the nodes we are at, in each rule around us */
    u32 *numbers = malloc(s->rules.n * sizeof *numbers);
    check(numbers != NULL);
    for (size_t r = 0; r < s->rules.n; r++)
        numbers[r] = UINT32_MAX;
    vec_push(&open, s->nodes.v[0].next);
    while (open.n) {
        u32 n = open.v[open.n - 1], value = s->nodes.v[n].value;
        if (!in_body(value)) {
            write_rule(s, value - GUARD, numbers, g);
            open.n--;
        } else if (is_rule(value) && numbers[value - RULE] == UINT32_MAX) {
            vec_push(&open, s->nodes.v[s->rules.v[value - RULE].guard].next);
        } else {
            open.v[open.n - 1] = s->nodes.v[n].next;
        }
    }
    vec_fini(&open);
    free(numbers);
    check(grammar_finish(g));
}
