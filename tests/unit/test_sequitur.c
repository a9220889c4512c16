/* SPDX-License-Identifier: MIT */
/* Sequitur's grammar makes the sequence again, has no digram twice and no rule that is used once; stored, it reads back. */
#include "analyze/sequitur.h"
#include "test.h"

#include <string.h>

static VEC(u32) sequence;

static u64 seed;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

static void put(u32 symbol)
{
    vec_push(&sequence, symbol);
}

static void put_text(const char *text)
{
    for (; *text; text++)
        put((u32)(*text - 'a'));
}

static void grammar_of_sequence(struct grammar *g)
{
    struct sequitur *s = sequitur_new();
    for (size_t i = 0; i < sequence.n; i++)
        sequitur_put(s, sequence.v[i]);
    sequitur_grammar(s, g);
    sequitur_free(s);
}

/* -- What must hold ---------------------------------------------------------------------------- */

/* Does the grammar make the first n symbols of the sequence, and no more? */
static bool expands(const struct grammar *g, size_t n)
{
    struct grammar_walk w;
    u32 symbol;
    size_t i = 0;
    if (grammar_whole(g)->length != n)
        return false;
    grammar_walk_init(&w, g, g->rules.n - 1);
    while (grammar_walk_next(&w, &symbol) && i < n && symbol == sequence.v[i])
        i++;
    bool more = w.places.n;
    grammar_walk_fini(&w);
    return i == n && !more;
}

static bool has_end(const struct grammar *g, u32 i)
{
    for (size_t r = 0; r < g->rules.n; r++)
        if (g->rules.v[r].first + g->rules.v[r].n == i + 1)
            return true;
    return false;
}

/* No digram stands twice without overlapping itself. For small grammars. */
static bool digrams_are_unique(const struct grammar *g)
{
    const u32 *v = g->symbols.v;
    for (u32 i = 0; i + 1 < g->symbols.n; i++) {
        if (has_end(g, i))
            continue;
        for (u32 j = i + 1; j + 1 < g->symbols.n; j++) {
            bool overlap = j == i + 1;
            if (!overlap && !has_end(g, j) && v[i] == v[j] && v[i + 1] == v[j + 1])
                return false;
        }
    }
    return true;
}

/* Every rule but the start is used at least twice, and has at least two symbols. */
static bool rules_are_useful(const struct grammar *g)
{
    bool good = true;
    u32 *uses = calloc(g->rules.n, sizeof *uses);
    for (size_t i = 0; i < g->symbols.n; i++)
        if (g->symbols.v[i] >= GRAMMAR_RULE)
            uses[g->symbols.v[i] - GRAMMAR_RULE]++;
    for (size_t r = 0; r + 1 < g->rules.n; r++)
        good &= uses[r] >= 2 && g->rules.v[r].n >= 2;
    free(uses);
    return good;
}

/* How often a rule's expansion is entered while the whole is walked, counted the slow way. */
static u64 count_of(const struct grammar *g, size_t in, size_t rule)
{
    u64 n = in == rule;
    for (u32 i = 0; i < g->rules.v[in].n; i++) {
        u32 symbol = g->symbols.v[g->rules.v[in].first + i];
        if (symbol >= GRAMMAR_RULE)
            n += count_of(g, symbol - GRAMMAR_RULE, rule);
    }
    return n;
}

static bool counts_are_right(const struct grammar *g)
{
    for (size_t r = 0; r < g->rules.n; r++)
        if (g->rules.v[r].count != count_of(g, g->rules.n - 1, r))
            return false;
    return true;
}

static bool equal(const struct grammar *a, const struct grammar *b)
{
    if (a->rules.n != b->rules.n || a->symbols.n != b->symbols.n)
        return false;
    return !memcmp(a->rules.v, b->rules.v, a->rules.n * sizeof *a->rules.v) &&
           (!a->symbols.n ||
            !memcmp(a->symbols.v, b->symbols.v, a->symbols.n * sizeof *a->symbols.v));
}

static bool reads_back(const struct grammar *g)
{
    struct grammar_bytes bytes = {0};
    struct grammar again;
    grammar_store(g, &bytes);
    bool good = !grammar_read(&again, bytes.v, bytes.n);
    if (good) {
        good = equal(g, &again);
        grammar_fini(&again);
    }
    vec_fini(&bytes);
    return good;
}

/* All of it, after each symbol. */
static bool holds_at_every_step(void)
{
    struct sequitur *s = sequitur_new();
    bool good = true;
    for (size_t i = 0; i < sequence.n && good; i++) {
        struct grammar g;
        sequitur_put(s, sequence.v[i]);
        sequitur_grammar(s, &g);
        good = expands(&g, i + 1) && digrams_are_unique(&g) && rules_are_useful(&g);
        grammar_fini(&g);
    }
    sequitur_free(s);
    return good;
}

/* For large ones: all but the digrams. */
static bool holds_at_the_end(void)
{
    struct grammar g;
    grammar_of_sequence(&g);
    bool good = expands(&g, sequence.n) && rules_are_useful(&g) && reads_back(&g);
    grammar_fini(&g);
    return good;
}

static const char *text_of_sequence(void)
{
    static char text[200];
    size_t n = MIN(sequence.n, sizeof text - 1);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + sequence.v[i] % 26);
    text[n] = 0;
    return text;
}

/* -- Known grammars ---------------------------------------------------------------------------- */

/* One rule, as text: terminals are small letters, rules capital ones, A the first. */
static char *put_rule(char *p, const struct grammar *g, size_t r)
{
    for (u32 i = 0; i < g->rules.v[r].n; i++) {
        u32 symbol = g->symbols.v[g->rules.v[r].first + i];
        *p++ = (char)(symbol < GRAMMAR_RULE ? 'a' + symbol : 'A' + symbol - GRAMMAR_RULE);
    }
    *p++ = '.';
    return p;
}

static bool gives(const char *text, const char *grammar)
{
    struct grammar g;
    char rules[500], *p = rules;
    sequence.n = 0;
    put_text(text);
    grammar_of_sequence(&g);
    for (size_t r = 0; r < g.rules.n; r++)
        p = put_rule(p, &g, r);
    *p = 0;
    bool good = !strcmp(rules, grammar) && reads_back(&g) && counts_are_right(&g);
    if (!good)
        fprintf(stderr, "%s gives %s, not %s\n", text, rules, grammar);
    grammar_fini(&g);
    return good;
}

/* The rules stand bottom up and end with a dot; the last is the start. */
static void the_papers_examples(void)
{
    CHECK(gives("", "."));
    CHECK(gives("a", "a."));
    CHECK(gives("ab", "ab."));
    CHECK(gives("abcdbc", "bc.aAdA."));
    CHECK(gives("abcdbcabcdbc", "bc.aAdA.BB."));
    CHECK(gives("abcdbcabcd", "bc.aAd.BAB."));
}

static void overlapping_digrams(void)
{
    CHECK(gives("aa", "aa."));
    CHECK(gives("aaa", "aaa."));
    CHECK(gives("aaaa", "aa.AA."));
    CHECK(gives("aaaaa", "aa.AAa."));
    CHECK(gives("aaaaaaaa", "aa.AA.BB."));
    CHECK(gives("aaabaaa", "aaa.AbA."));
    CHECK(gives("abab", "ab.AA."));
    CHECK(gives("ababa", "ab.AAa."));
}

static void stored_form_is_the_one_of_the_header(void)
{
    static const u8 wanted[] = {3, 2, 2, 4, 4, 0, 1, 6, 1, 2, 1, 1};
    struct grammar g;
    struct grammar_bytes bytes = {0};
    sequence.n = 0;
    put_text("abcdbcabcdbc");
    grammar_of_sequence(&g);
    grammar_store(&g, &bytes);
    CHECK(bytes.n == sizeof wanted && !memcmp(bytes.v, wanted, sizeof wanted));
    CHECK(g.rules.v[0].count == 4 && g.rules.v[0].length == 2);
    CHECK(g.rules.v[1].count == 2 && g.rules.v[1].length == 6);
    CHECK(g.rules.v[2].count == 1 && g.rules.v[2].length == 12);
    vec_fini(&bytes);
    grammar_fini(&g);
}

/* -- All, and many ----------------------------------------------------------------------------- */

/* Every sequence of n symbols out of k. */
static void all_sequences(u32 k, u32 n)
{
    u64 all = 1, bad = 0;
    for (u32 i = 0; i < n; i++)
        all *= k;
    for (u64 x = 0; x < all && !bad; x++) {
        u64 rest = x;
        sequence.n = 0;
        for (u32 i = 0; i < n; i++, rest /= k)
            put((u32)(rest % k));
        bad += !holds_at_every_step();
    }
    CHECK_CASE(!bad, "%s", text_of_sequence());
}

/* Loops in loops of random shape: what programs do. */
static void put_loops(u32 depth, u32 symbols)
{
    u64 from = sequence.n, rounds = 1 + rnd(5);
    for (u64 n = 1 + rnd(3); n--;) {
        if (depth && rnd(2))
            put_loops(depth - 1, symbols);
        else
            put((u32)rnd(symbols));
    }
    u64 n = sequence.n - from;
    while (rounds-- && sequence.n < 3000)
        for (u64 i = 0; i < n; i++)
            put(rnd(40) ? sequence.v[from + i] : (u32)rnd(symbols));
}

static void random_sequences_hold_at_every_step(void)
{
    for (u32 i = 0; i < 600; i++) {
        u32 symbols = 1 + (u32)rnd(5);
        seed = i;
        sequence.n = 0;
        for (u64 n = rnd(90); n--;)
            put((u32)rnd(symbols));
        CHECK_CASE(holds_at_every_step(), "seed %u: %s", i, text_of_sequence());
    }
}

static void looping_sequences_hold_at_every_step(void)
{
    for (u32 i = 0; i < 400; i++) {
        seed = i;
        sequence.n = 0;
        u32 symbols = 2 + (u32)rnd(6);
        put_loops(2, symbols);
        sequence.n = MIN(sequence.n, 150ul);
        CHECK_CASE(holds_at_every_step(), "seed %u: %s", i, text_of_sequence());
    }
}

static void long_sequences_expand(void)
{
    for (u32 i = 0; i < 3000; i++) {
        seed = i;
        sequence.n = 0;
        u32 symbols = 1 + (u32)rnd(1u << rnd(12));
        put_loops(5, symbols);
        CHECK_CASE(holds_at_the_end(), "seed %u: %s", i, text_of_sequence());
    }
}

static void large_symbols_and_large_grammars_expand(void)
{
    sequence.n = 0;
    for (u32 i = 0; i < 200000; i++)
        put(i % 7 ? (u32)rnd(GRAMMAR_RULE) : GRAMMAR_RULE - 1);
    CHECK(holds_at_the_end());
    sequence.n = 0;
    for (u32 i = 0; i < 200000; i++)
        put((u32)rnd(16));
    CHECK(holds_at_the_end());
}

/* -- Size -------------------------------------------------------------------------------------- */

static size_t stored_size(u32 *rules)
{
    struct grammar g;
    struct grammar_bytes bytes = {0};
    grammar_of_sequence(&g);
    grammar_store(&g, &bytes);
    size_t n = bytes.n;
    *rules = (u32)g.rules.n;
    vec_fini(&bytes);
    grammar_fini(&g);
    return n;
}

static void runs_take_the_logarithm(void)
{
    u32 rules;
    for (u32 log = 2; log <= 20; log++) {
        sequence.n = 0;
        for (u32 i = 0; i < 1u << log; i++)
            put(5);
        size_t n = stored_size(&rules);
        CHECK_CASE(rules == log, "5^(2^%u) has %u rules", log, rules);
        CHECK_CASE(n == 1 + 3 * log, "5^(2^%u) takes %zu bytes", log, n);
    }
    sequence.n = 0;
    for (u32 i = 0; i < 1000003; i++)
        put(1);
    CHECK(stored_size(&rules) < 100);
}

static void nests_take_the_logarithm(void)
{
    u32 rules;
    sequence.n = 0;
    for (u32 i = 0; i < 100; i++, put(3))
        for (u32 j = 0; j < 100; j++, put(2))
            for (u32 k = 0; k < 100; k++)
                put(k & 1);
    size_t n = stored_size(&rules);
    CHECK_CASE(n < 200, "1020100 symbols of a loop nest take %zu bytes", n);
    CHECK(holds_at_the_end());
}

static void memory_is_that_of_the_grammar(void)
{
    struct sequitur *s = sequitur_new();
    for (u32 i = 0; i < 1000000; i++)
        sequitur_put(s, i % 1000);
    CHECK(sequitur_memory(s) < 200000);
    sequitur_free(s);
}

/* -- Bytes that are no grammar ----------------------------------------------------------------- */

static bool is_refused(const char *bytes, size_t size)
{
    struct grammar g;
    u8 *copy = malloc(size + !size); /* exactly as large: the sanitizer sees what reads beyond */
    memcpy(copy, bytes, size);
    const char *fault = grammar_read(&g, copy, size);
    if (!fault)
        grammar_fini(&g);
    free(copy);
    return fault;
}
#define REFUSED(bytes) is_refused(bytes, sizeof bytes - 1)

static void what_is_no_grammar_is_refused(void)
{
    CHECK(REFUSED(""));
    CHECK(REFUSED("\0"));
    CHECK(!REFUSED("\1\0"));
    CHECK(REFUSED("\1"));
    CHECK(REFUSED("\1\0\0"));
    CHECK(REFUSED("\1\2\0"));
    CHECK(REFUSED("\1\1\x80"));
    CHECK(REFUSED("\1\1\1"));                       /* no rule stands before the first */
    CHECK(REFUSED("\2\1\0\1\3"));                   /* ... nor two before the second */
    CHECK(REFUSED("\1\1\x80\x80\x80\x80\x80\1"));   /* a terminal that is too large */
    CHECK(REFUSED("\xff\xff\xff\xff\xff\xff\xff")); /* more rules than bytes */
    CHECK(REFUSED("\1\xff\xff\xff\xff\xff\xff\xff\0"));
}

static void sequence_beyond_all_bounds_is_refused(void)
{
    struct grammar_bytes bytes = {0};
    vec_push(&bytes, 70);
    vec_push(&bytes, 1);
    vec_push(&bytes, 0);
    for (u32 i = 1; i < 70; i++) {
        vec_push(&bytes, 2);
        vec_push(&bytes, 1);
        vec_push(&bytes, 1);
    }
    CHECK(is_refused((const char *)bytes.v, bytes.n));
    bytes.v[0] = 50;
    CHECK(!is_refused((const char *)bytes.v, 3 + 49 * 3));
    vec_fini(&bytes);
}

static void damaged_grammar_is_read_or_refused(void)
{
    struct grammar g;
    struct grammar_bytes bytes = {0};
    seed = 1;
    sequence.n = 0;
    put_loops(5, 100);
    grammar_of_sequence(&g);
    grammar_store(&g, &bytes);
    for (u32 i = 0; i < 20000; i++) {
        size_t at = rnd(bytes.n);
        u8 was = bytes.v[at];
        bytes.v[at] = (u8)rnd(256);
        is_refused((const char *)bytes.v, rnd(2) ? bytes.n : rnd(bytes.n));
        bytes.v[at] = was;
    }
    CHECK(!is_refused((const char *)bytes.v, bytes.n));
    vec_fini(&bytes);
    grammar_fini(&g);
}

int main(void)
{
    the_papers_examples();
    overlapping_digrams();
    stored_form_is_the_one_of_the_header();
    for (u32 n = 1; n <= 13; n++)
        all_sequences(2, n);
    for (u32 n = 1; n <= 8; n++)
        all_sequences(3, n);
    all_sequences(4, 7);
    random_sequences_hold_at_every_step();
    looping_sequences_hold_at_every_step();
    long_sequences_expand();
    large_symbols_and_large_grammars_expand();
    runs_take_the_logarithm();
    nests_take_the_logarithm();
    memory_is_that_of_the_grammar();
    what_is_no_grammar_is_refused();
    sequence_beyond_all_bounds_is_refused();
    damaged_grammar_is_read_or_refused();
    vec_fini(&sequence);
    return test_end("sequitur");
}
