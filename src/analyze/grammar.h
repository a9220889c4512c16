/* SPDX-License-Identifier: MIT */
/* A grammar that makes one sequence: rules whose bodies are symbols and other rules.
 *
 * Rules stand bottom up: a rule's body names only rules before it, and the last rule is the whole sequence. So no
 * grammar, whoever wrote it, goes in circles.
 *
 * Stored, a grammar is a sequence of numbers, seven bits in a byte, the low ones first, all bytes but a number's last
 * with bit 7 set:
 *
 *     the number of rules
 *     for each rule, in order:
 *         how many symbols its body has
 *         each symbol: 2 * t for the terminal t; 2 * d - 1 for the rule that stands d before this one
 *
 * abcdbcabcdbc, with the terminals 0 to 3, is S -> A A, A -> a B d B, B -> b c, and stored
 *
 *     03   02 02 04   04 00 01 06 01   02 01 01 */
#ifndef GRAMMAR_H
#define GRAMMAR_H

#include "base/base.h"
#include "base/vec.h"

/* A symbol of a body: a terminal, which is smaller than this, or this + the number of a rule. */
#define GRAMMAR_RULE 0x80000000u

struct grammar_rule {
    u64 length;   /* in terminals, expanded */
    u64 count;    /* how often it stands in the whole sequence */
    u32 first, n; /* its body, in symbols */
};

/* Zeroed, it has no rules yet. */
struct grammar {
    VEC(struct grammar_rule) rules;
    VEC(u32) symbols;
};

struct grammar_bytes {
    u8 *v;
    size_t n, cap;
};

/* Begin a new rule behind the others; the symbols that are pushed then are its body. */
void grammar_begin_rule(struct grammar *g);
void grammar_push(struct grammar *g, u32 symbol);
/* Compute lengths and counts, when all rules are there. False if the sequence is longer than 2^62. */
bool grammar_finish(struct grammar *g);
void grammar_fini(struct grammar *g);

/* Append the stored form. */
void grammar_store(const struct grammar *g, struct grammar_bytes *to);
/* Make the grammar that these bytes, from a file, store: NULL, or what is wrong with them. */
const char *grammar_read(struct grammar *g, const u8 *bytes, size_t size);

static inline const struct grammar_rule *grammar_whole(const struct grammar *g)
{
    return &g->rules.v[g->rules.n - 1];
}

/* -- Expanding --------------------------------------------------------------------------------- */

/* Symbols of a body that are still to come. */
struct grammar_place {
    u32 at, end;
};

struct grammar_walk {
    const struct grammar *g;
    VEC(struct grammar_place) places; /* where we are, in each of the rules around us */
};

/* Begin to walk the terminals of a rule. */
void grammar_walk_init(struct grammar_walk *w, const struct grammar *g, size_t rule);
/* The next terminal; false at the end. */
bool grammar_walk_next(struct grammar_walk *w, u32 *terminal);
void grammar_walk_fini(struct grammar_walk *w);

#endif
