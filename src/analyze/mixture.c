/* SPDX-License-Identifier: MIT */
/* Tables of how often instructions of each kind ran. */
#include "analyze/mix.h"

#include <stdlib.h>
#include <string.h>

void mix_insn(struct mix *m, const struct nature *n, u8 length, u64 ran)
{
    m->mnemonics[n->mnemonic] += ran;
    m->categories[n->category] += ran;
    m->extensions[n->extension] += ran;
    m->goes[n->goes] += ran;
    m->vectors[n->vector] += ran;
    m->lengths[length] += ran;
    for (u32 i = 0; i < n->reads.n; i++)
        m->reads[n->reads.v[i]] += ran;
    for (u32 i = 0; i < n->writes.n; i++)
        m->writes[n->writes.v[i]] += ran;
}

void mix_size(struct mix *m, u32 size, u32 kind, u64 made)
{
    if (!made)
        return;
    vec_reach(&m->sizes, size);
    m->sizes.v[size].made[kind] += made;
}

/* -- In all ------------------------------------------------------------------------------------- */

static u64 bytes_of(const struct mix *m, enum ref_kind kind)
{
    u64 bytes = 0;
    for (size_t size = 0; size < m->sizes.n; size++)
        bytes += size * m->sizes.v[size].made[kind];
    return bytes;
}

static u64 blocks_of(const struct mix *m)
{
    u64 n = 0;
    for (u32 k = 0; k < GOES_KINDS; k++)
        n += k != GOES_on ? m->goes[k] : 0;
    return n;
}

static void add_flow(const struct mix *m, struct table *t)
{
    fact_count(t, "branches", "conditional branches", m->goes[GOES_cond]);
    fact_count(t, "taken", "conditional branches taken", m->taken);
    fact_count(t, "not_taken", "conditional branches not taken", m->goes[GOES_cond] - m->taken);
    fact_count(t, "jumps", "jumps", m->goes[GOES_jump] + m->goes[GOES_ijump]);
    fact_count(t, "indirect_jumps", "indirect jumps", m->goes[GOES_ijump]);
    fact_count(t, "calls", "calls", m->goes[GOES_call] + m->goes[GOES_icall]);
    fact_count(t, "indirect_calls", "indirect calls", m->goes[GOES_icall]);
    fact_count(t, "returns", "returns", m->goes[GOES_ret]);
    fact_count(t, "syscalls", "system calls", m->goes[GOES_kernel]);
}

static void add_total(const struct mix *m, const u64 *n, struct result *r)
{
    struct table *t = result_table(r, TABLE_facts, "total", "in all");
    const u64 modified = bytes_of(m, REF_MODIFY), blocks = blocks_of(m);
    fact_count(t, "instructions", NULL, n[MIX_insns]);
    fact_count(t, "records", "records of units", m->records);
    fact_count(t, "blocks", "basic blocks", blocks);
    fact_number(t, "block_length", "instructions in a basic block",
                blocks ? (double)n[MIX_insns] / (double)blocks : 0.0);
    fact_count(t, "loads", NULL, n[MIX_loads]);
    fact_count(t, "stores", NULL, n[MIX_stores]);
    fact_count(t, "modifies", NULL, n[MIX_modifies]);
    fact_count(t, "bytes_read", "bytes read", bytes_of(m, REF_LOAD) + modified);
    fact_count(t, "bytes_written", "bytes written", bytes_of(m, REF_STORE) + modified);
    add_flow(m, t);
    fact_count(t, "vectors", "vector instructions", n[MIX_vectors]);
}

/* -- By name ------------------------------------------------------------------------------------ */

struct named {
    const char *name;
    u64 count[2];
};

static int by_count(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    u64 m = x->count[0] + x->count[1], n = y->count[0] + y->count[1];
    return m != n ? (m > n ? -1 : 1) : strcmp(x->name, y->name);
}

static double percent(u64 n, u64 of)
{
    return of ? 100.0 * (double)n / (double)of : 0.0;
}

/* What ran of all that have names, as a table with shares. */
static void add_shares(struct result *r, const char *table, const char *title, const u64 *count,
                       u32 n, const char *(*name)(u32), u64 all)
{
    struct table *t = result_table(r, TABLE_rows, table, title);
    VEC(struct named) rows = {0};
    table_add_column(t, CELL_count, "count", NULL);
    table_add_column(t, CELL_percent, "share", "of all instructions");
    table_add_column(t, CELL_text, "name", NULL);
    for (u32 i = 0; i < n; i++)
        if (count[i])
            vec_push(&rows, ((struct named){name(i), {count[i]}}));
    if (rows.n)
        qsort(rows.v, rows.n, sizeof *rows.v, by_count);
    for (size_t i = 0; i < rows.n; i++)
        table_row(t, rows.v[i].count[0], percent(rows.v[i].count[0], all), rows.v[i].name);
    vec_fini(&rows);
}

static const char *mnemonic_name(u32 i)
{
    return ZydisMnemonicGetString((ZydisMnemonic)i);
}

static const char *category_name(u32 i)
{
    return ZydisCategoryGetString((ZydisInstructionCategory)i);
}

static const char *extension_name(u32 i)
{
    return ZydisISAExtGetString((ZydisISAExt)i);
}

static void add_registers(const struct mix *m, struct result *r)
{
    struct table *t = result_table(r, TABLE_rows, "registers", "registers");
    VEC(struct named) rows = {0};
    table_add_column(t, CELL_count, "reads", "instructions that read it");
    table_add_column(t, CELL_count, "writes", "instructions that write it");
    table_add_column(t, CELL_text, "name", NULL);
    for (u32 i = 0; i < ARRAY_LEN(m->reads); i++)
        if (m->reads[i] || m->writes[i])
            vec_push(&rows, ((struct named){ZydisRegisterGetString((ZydisRegister)i),
                                            {m->reads[i], m->writes[i]}}));
    if (rows.n)
        qsort(rows.v, rows.n, sizeof *rows.v, by_count);
    for (size_t i = 0; i < rows.n; i++)
        table_row(t, rows.v[i].count[0], rows.v[i].count[1], rows.v[i].name);
    vec_fini(&rows);
}

/* -- By number ---------------------------------------------------------------------------------- */

static void add_sizes(const struct mix *m, struct result *r)
{
    struct table *t =
        result_table(r, TABLE_series, "sizes", "sizes of memory references, in bytes");
    table_add_column(t, CELL_count, "size", NULL);
    table_add_column(t, CELL_count, "loads", NULL);
    table_add_column(t, CELL_count, "stores", NULL);
    table_add_column(t, CELL_count, "modifies", NULL);
    for (size_t size = 0; size < m->sizes.n; size++) {
        const u64 *n = m->sizes.v[size].made;
        if (n[REF_LOAD] || n[REF_STORE] || n[REF_MODIFY])
            table_row(t, (u64)size, n[REF_LOAD], n[REF_STORE], n[REF_MODIFY]);
    }
}

static void add_vectors(const struct mix *m, u64 all, struct result *r)
{
    static const char *const names[VECTOR_KINDS] = {"none", "scalar", "64", "128", "256", "512"};
    struct table *t = result_table(r, TABLE_series, "vectors", "widths of vectors, in bits");
    table_add_column(t, CELL_text, "width", NULL);
    table_add_column(t, CELL_count, "count", NULL);
    table_add_column(t, CELL_percent, "share", "of all instructions");
    for (u32 k = 0; k < VECTOR_KINDS; k++)
        table_row(t, names[k], m->vectors[k], percent(m->vectors[k], all));
}

static void add_lengths(const struct mix *m, u64 all, struct result *r)
{
    struct table *t = result_table(r, TABLE_series, "lengths", "lengths of instructions, in bytes");
    table_add_column(t, CELL_count, "length", NULL);
    table_add_column(t, CELL_count, "count", NULL);
    table_add_column(t, CELL_percent, "share", "of all instructions");
    for (u32 k = 1; k < ARRAY_LEN(m->lengths); k++)
        table_row(t, (u64)k, m->lengths[k], percent(m->lengths[k], all));
}

static void add_places(struct mix *m, struct sources *s, struct result *r)
{
    static const char *const names[MIX_COUNTS] = {"instructions", "loads",    "stores",
                                                  "modifies",     "branches", "vectors"};
    struct table *t = result_table(r, TABLE_rows, "rows", "where");
    for (u32 c = 0; c < MIX_COUNTS; c++)
        table_add_column(t, CELL_count, names[c], NULL);
    spots_table(&m->spots, s, 1 << MIX_insns, t);
}

void mix_finish(void *mix, struct sources *s, struct result *r)
{
    struct mix *m = mix;
    u64 n[MIX_COUNTS];
    spots_total(&m->spots, n);
    add_total(m, n, r);
    add_places(m, s, r);
    add_shares(r, "opcodes", "instructions by name", m->mnemonics, ARRAY_LEN(m->mnemonics),
               mnemonic_name, n[MIX_insns]);
    add_shares(r, "categories", "instructions by category", m->categories, ARRAY_LEN(m->categories),
               category_name, n[MIX_insns]);
    add_shares(r, "extensions", "instructions by extension of the instruction set", m->extensions,
               ARRAY_LEN(m->extensions), extension_name, n[MIX_insns]);
    add_registers(m, r);
    add_sizes(m, r);
    add_vectors(m, n[MIX_insns], r);
    add_lengths(m, n[MIX_insns], r);
}
