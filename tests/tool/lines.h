/* SPDX-License-Identifier: MIT */
/* What gait.h shows, as the lines of gait dump; and that it keeps its promises. */
#ifndef LINES_H
#define LINES_H

#include <gait.h>

#include <stdio.h>
#include <stdlib.h>

#define HOLDS(x)                                                                   \
    do {                                                                           \
        if (!(x)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x); \
            abort();                                                               \
        }                                                                          \
    } while (0)

static const struct {
    const char *name;
    unsigned slots;
} mark_names[] = {
    [GAIT_MARK_SYSCALL] = {"syscall", 3},     [GAIT_MARK_SIGNAL] = {"signal", 4},
    [GAIT_MARK_SIGRETURN] = {"sigreturn", 2}, [GAIT_MARK_STATE] = {"state", 4},
    [GAIT_MARK_STEPPED] = {"stepped", 3},     [GAIT_MARK_NATIVE] = {"native", 2},
    [GAIT_MARK_LOST] = {"lost", 2},
};

static void check_batch(const struct gait_batch *b)
{
    for (uint32_t i = 0, next = 0; i < b->n_runs;
         next = b->runs[i].access + b->runs[i].n_accesses, i++)
        HOLDS((b->runs[i].access == next || !b->runs[i].n_accesses) &&
              b->runs[i].insn + b->runs[i].n_insns <= b->n_insns);
    for (uint32_t i = 0; i < b->n_accesses; i++)
        HOLDS(b->accesses[i].insn < b->n_insns && b->accesses[i].kind <= GAIT_MODIFY &&
              b->accesses[i].bytes && !b->accesses[i].zero);
    for (uint32_t i = 0; i < b->n_marks; i++)
        HOLDS(b->marks[i].kind <= GAIT_MARK_LOST && b->marks[i].run <= b->n_runs &&
              (!i || b->marks[i - 1].run <= b->marks[i].run));
}

static void put_mark(FILE *f, const struct gait_batch *b, const struct gait_mark *m)
{
    fprintf(f, "%6u  %16s  %s", b->thread, "-", mark_names[m->kind].name);
    for (unsigned i = 0; i < mark_names[m->kind].slots; i++)
        fprintf(f, " %lx", (unsigned long)m->value[i]);
    fputc('\n', f);
}

static void put_access(FILE *f, const struct gait_batch *b, const struct gait_access *a)
{
    static const char *const words[] = {"load  ", "store ", "modify"};
    fprintf(f, "%6u  %16lx  %s%18lx%6u\n", b->thread, (unsigned long)b->insns[a->insn].pc,
            words[a->kind], (unsigned long)a->address, a->bytes);
}

static void put_run(FILE *f, const struct gait_batch *b, const struct gait_run *r)
{
    const struct gait_access *a = b->accesses + r->access, *end = a + r->n_accesses;
    for (uint32_t i = r->insn;; i++) {
        for (; a < end && a->insn < i; a++)
            put_access(f, b, a);
        if (i == r->insn + r->n_insns)
            break;
        fprintf(f, "%6u  %16lx  exec  %18lx%6u\n", b->thread, (unsigned long)b->insns[i].pc,
                (unsigned long)b->insns[i].pc, b->insns[i].length);
    }
    HOLDS(a == end);
}

static void put_batch(FILE *f, const struct gait_batch *b)
{
    uint32_t mark = 0;
    check_batch(b);
    for (uint32_t i = 0; i <= b->n_runs; i++) {
        for (; mark < b->n_marks && b->marks[mark].run == i; mark++)
            put_mark(f, b, &b->marks[mark]);
        if (i < b->n_runs)
            put_run(f, b, &b->runs[i]);
    }
}

#endif
