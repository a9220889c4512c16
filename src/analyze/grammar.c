/* SPDX-License-Identifier: MIT */
/* Grammars: lengths, counts, the stored form, expanding. */
#include "analyze/grammar.h"
#include "base/err.h"
#include "base/number.h"

#include <stdlib.h>

#define LENGTH_LIMIT (1ull << 62)

/* -- Making ------------------------------------------------------------------------------------ */

void grammar_begin_rule(struct grammar *g)
{
    vec_push(&g->rules, ((struct grammar_rule){.first = (u32)g->symbols.n}));
}

void grammar_push(struct grammar *g, u32 symbol)
{
    vec_push(&g->symbols, symbol);
    g->rules.v[g->rules.n - 1].n++;
}

static u64 symbol_length(const struct grammar *g, u32 symbol)
{
    return symbol < GRAMMAR_RULE ? 1 : g->rules.v[symbol - GRAMMAR_RULE].length;
}

static bool find_lengths(struct grammar *g)
{
    for (size_t r = 0; r < g->rules.n; r++) {
        struct grammar_rule *rule = &g->rules.v[r];
        for (u32 i = 0; i < rule->n; i++) {
            rule->length += symbol_length(g, g->symbols.v[rule->first + i]);
            if (rule->length > LENGTH_LIMIT)
                return false;
        }
    }
    return true;
}

/* A rule that nobody uses, which only a file can have, counts 0. */
static void find_counts(struct grammar *g)
{
    g->rules.v[g->rules.n - 1].count = 1;
    for (size_t r = g->rules.n; r-- > 0;) {
        const struct grammar_rule *rule = &g->rules.v[r];
        for (u32 i = 0; i < rule->n; i++) {
            u32 symbol = g->symbols.v[rule->first + i];
            if (symbol >= GRAMMAR_RULE)
                g->rules.v[symbol - GRAMMAR_RULE].count += rule->count;
        }
    }
}

bool grammar_finish(struct grammar *g)
{
    if (!find_lengths(g))
        return false;
    find_counts(g);
    return true;
}

void grammar_fini(struct grammar *g)
{
    vec_fini(&g->rules);
    vec_fini(&g->symbols);
}

/* -- Storing ----------------------------------------------------------------------------------- */

static void put_number(struct grammar_bytes *to, u64 x)
{
    (void)vec_grow(to, NUMBER_BYTES);
    to->n = (size_t)(number_put(to->v + to->n - NUMBER_BYTES, x) - to->v);
}

void grammar_store(const struct grammar *g, struct grammar_bytes *to)
{
    put_number(to, g->rules.n);
    for (size_t r = 0; r < g->rules.n; r++) {
        const struct grammar_rule *rule = &g->rules.v[r];
        put_number(to, rule->n);
        for (u32 i = 0; i < rule->n; i++) {
            u32 symbol = g->symbols.v[rule->first + i];
            put_number(to, symbol < GRAMMAR_RULE ? 2ull * symbol
                                                 : 2 * (r - (symbol - GRAMMAR_RULE)) - 1);
        }
    }
}

struct cursor {
    const u8 *at, *end;
    bool bad; /* there was not a number */
};

static u64 get_number(struct cursor *c)
{
    u64 x;
    c->bad |= !number_get(&c->at, c->end, &x);
    return c->bad ? 0 : x;
}

/* The symbol of rule r that a number stands for; false if it stands for none. */
static bool symbol_of(u64 x, size_t r, u32 *symbol)
{
    u64 half = x / 2, back = half + 1;
    if (x % 2 ? back > r : half >= GRAMMAR_RULE)
        return false;
    *symbol = x % 2 ? GRAMMAR_RULE + (u32)(r - back) : (u32)half;
    return true;
}

static const char *read_rule(struct grammar *g, struct cursor *c)
{
    size_t r = g->rules.n;
    u64 n = get_number(c);
    u32 symbol = 0;
    grammar_begin_rule(g);
    for (; n && !c->bad; n--) {
        if (!symbol_of(get_number(c), r, &symbol))
            return "a rule names one that is not before it";
        grammar_push(g, symbol);
    }
    return NULL;
}

/* Each rule and each symbol takes a byte or more, so memory is bounded by the size. */
const char *grammar_read(struct grammar *g, const u8 *bytes, size_t size)
{
    *g = (struct grammar){0};
    struct cursor c = {bytes, bytes + size, size >= GRAMMAR_RULE};
    const char *fault = NULL;
    for (u64 n = get_number(&c); n && !c.bad && !fault; n--)
        fault = read_rule(g, &c);
    if (!fault && (c.bad || c.at != c.end || !g->rules.n))
        fault = "it is cut short, or goes on too long";
    if (!fault && !grammar_finish(g))
        fault = "it makes too long a sequence";
    if (fault)
        grammar_fini(g);
    return fault;
}

/* -- Expanding --------------------------------------------------------------------------------- */

static void enter(struct grammar_walk *w, size_t rule)
{
    const struct grammar_rule *r = &w->g->rules.v[rule];
    vec_push(&w->places, ((struct grammar_place){r->first, r->first + r->n}));
}

void grammar_walk_init(struct grammar_walk *w, const struct grammar *g, size_t rule)
{
    *w = (struct grammar_walk){.g = g};
    enter(w, rule);
}

bool grammar_walk_next(struct grammar_walk *w, u32 *terminal)
{
    while (w->places.n) {
        struct grammar_place *p = &w->places.v[w->places.n - 1];
        if (p->at == p->end) {
            w->places.n--;
            continue;
        }
        u32 symbol = w->g->symbols.v[p->at++];
        if (symbol < GRAMMAR_RULE) {
            *terminal = symbol;
            return true;
        }
        enter(w, symbol - GRAMMAR_RULE);
    }
    return false;
}

void grammar_walk_fini(struct grammar_walk *w)
{
    vec_fini(&w->places);
}
