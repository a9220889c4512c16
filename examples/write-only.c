/* SPDX-License-Identifier: MIT */
/* write-only: which code writes data that is never read: work for nothing, unless the kernel reads it.
 * A state sees the accesses to some addresses only, so several can work at the same time. */
#include <gait.h>
#include <stdlib.h>

enum { PAGE = 4096, TABLE = 1 << 16 };

struct page {
    struct page *next;
    uint64_t number;
    uint32_t process;
    uint32_t writer[PAGE], writes[PAGE]; /* of each byte: the last instruction that wrote it, and how often one did */
    uint8_t read[PAGE];
};

struct state {
    struct gait_counts *counts; /* bytes; how often they were written, all together */
    struct page *table[TABLE];
};

static void *begin(struct gait_setup *setup __attribute__((unused)))
{
    struct state *s = calloc(1, sizeof *s);
    s->counts = gait_counts(2);
    return s;
}

static struct page *page_of(struct state *s, uint32_t process, uint64_t number)
{
    struct page **p = &s->table[number % TABLE];
    while (*p && ((*p)->number != number || (*p)->process != process))
        p = &(*p)->next;
    if (!*p) {
        *p = calloc(1, sizeof **p);
        (*p)->number = number;
        (*p)->process = process;
    }
    return *p;
}

static void batch(void *state, const struct gait_batch *b)
{
    gait_counts_of(((struct state *)state)->counts, b); /* so that there are counts for all of its instructions */
    for (const struct gait_access *a = b->accesses; a < b->accesses + b->n_accesses; a++)
        for (uint64_t at = a->address; at < a->address + a->bytes; at++) {
            struct page *p = page_of(state, b->process, at / PAGE);
            p->read[at % PAGE] |= a->kind != GAIT_STORE;
            p->writes[at % PAGE] += a->kind != GAIT_LOAD;
            if (a->kind != GAIT_LOAD)
                p->writer[at % PAGE] = a->insn;
        }
}

static struct gait_counts *count(struct state *s)
{
    for (int i = 0; i < TABLE; i++)
        for (struct page *p = s->table[i]; p; p = p->next)
            for (int k = 0; k < PAGE; k++)
                if (p->writes[k] && !p->read[k]) {
                    uint64_t *n = gait_counts_at(s->counts, p->process, p->writer[k]);
                    n[0]++;
                    n[1] += p->writes[k];
                }
    return s->counts;
}

static void merge(void *into, void *from)
{
    gait_counts_merge(((struct state *)into)->counts, count(from));
}

static void finish(void *state, struct gait_result *r)
{
    static const char *const columns[] = {"bytes", "written"};
    gait_counts_table(count(state), r, GAIT_BY_LINE, "write_only", "bytes written and never read, by who wrote last", columns);
}

const struct gait_tool gait_tool = {GAIT_API, "write-only", 0, GAIT_SPLIT_ADDRESS, PAGE, begin, batch, merge, finish};
