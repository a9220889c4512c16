/* SPDX-License-Identifier: MIT */
/* A tool whose states write down what they see, each to a file of its own: TO.0, TO.1, .. Made with -DSPLIT for each split. */
#include "lines.h"

enum { PROCESSES = 4096 };

struct state {
    FILE *events, *code;
    uint32_t insns[PROCESSES]; /* of each process, so far */
    uint64_t batches, runs, accesses, marks;
};

static FILE *open_file(const char *to, const char *end, int number)
{
    char path[4096];
    snprintf(path, sizeof path, "%s%s.%d", to, end, number);
    FILE *f = fopen(path, "w");
    HOLDS(f);
    return f;
}

static void *begin(struct gait_setup *setup)
{
    static int number;
    const char *to = gait_option(setup, "to");
    struct state *s = calloc(1, sizeof *s);
    HOLDS(s && !gait_option(setup, "no-such-option"));
    s->events = open_file(to, "", number);
    s->code = open_file(to, ".code", number);
    number++;
    return s;
}

/* The instructions that are new since `from`: process, pc, bytes. */
static uint32_t put_code(FILE *f, const struct gait_batch *b, uint32_t from)
{
    for (; from < b->n_insns; from++) {
        const struct gait_insn *in = &b->insns[from];
        fprintf(f, "%u %lx ", b->process, (unsigned long)in->pc);
        for (uint32_t k = 0; k < in->length; k++)
            fprintf(f, "%02x", b->code[in->bytes + k]);
        fputc('\n', f);
    }
    return from;
}

static void batch(void *state, const struct gait_batch *b)
{
    struct state *s = state;
    fprintf(s->events, "batch %u\n", b->process);
    put_batch(s->events, b);
    if (SPLIT == GAIT_SPLIT_ADDRESS)
        for (uint32_t i = 0; i < b->n_accesses; i++)
            put_access(s->events, b, &b->accesses[i]);
    HOLDS(b->process < PROCESSES);
    s->insns[b->process] = put_code(s->code, b, s->insns[b->process]);
    s->batches++;
    s->runs += b->n_runs;
    s->accesses += b->n_accesses;
    s->marks += b->n_marks;
}

static void end(struct state *s)
{
    fclose(s->events);
    fclose(s->code);
    free(s);
}

static void merge(void *into, void *from)
{
    struct state *a = into, *b = from;
    a->batches += b->batches;
    a->runs += b->runs;
    a->accesses += b->accesses;
    a->marks += b->marks;
    end(b);
}

static void finish(void *state, struct gait_result *r)
{
    struct state *s = state;
    struct gait_table *t = gait_table(r, GAIT_FACTS, "seen", "what was seen");
    gait_column(t, GAIT_COUNT, "batches");
    gait_column(t, GAIT_COUNT, "runs");
    gait_column(t, GAIT_COUNT, "accesses");
    gait_column(t, GAIT_COUNT, "marks");
    gait_row(t, s->batches, s->runs, s->accesses, s->marks);
    end(s);
}

static const struct gait_option options[] = {{"to", NULL, "where to write it"}, {0}};

const struct gait_tool gait_tool = {
    .api = GAIT_API,
    .name = "seen",
    .options = options,
    .split = SPLIT,
    .split_bytes = 64,
    .begin = begin,
    .batch = batch,
    .merge = SPLIT == GAIT_SPLIT_NONE ? NULL : merge,
    .finish = finish,
};
