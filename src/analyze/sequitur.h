/* SPDX-License-Identifier: MIT */
/* Sequitur: from a sequence to a grammar that makes it, in linear time (Nevill-Manning and Witten 1997).
 *
 * After each symbol that is put, two things hold for the rules so far:
 *   - digram uniqueness: no two neighbours stand a second time anywhere (aa in aaa overlaps itself, and may);
 *   - rule utility: every rule but the start is used at least twice. */
#ifndef SEQUITUR_H
#define SEQUITUR_H

#include "analyze/grammar.h"
#include "base/base.h"

struct sequitur;

struct sequitur *sequitur_new(void);
/* Append a symbol, below GRAMMAR_RULE. */
void sequitur_put(struct sequitur *s, u32 symbol);
/* The grammar of what was put so far. */
void sequitur_grammar(const struct sequitur *s, struct grammar *g);
/* Bytes of memory that it takes now. */
u64 sequitur_memory(const struct sequitur *s);
void sequitur_free(struct sequitur *s);

#endif
