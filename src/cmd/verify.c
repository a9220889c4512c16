/* SPDX-License-Identifier: MIT */
/* gait verify: walk a whole trace and reject what no program can have done.
 *
 * Beyond what every reader checks (seals, the unit table, exit ids, slot counts), for each thread:
 *   - a direct exit is followed by a unit that begins at its target;
 *   - a system-call exit is followed by a syscall record, then by the unit at its target;
 *   - the stack pointer that follows from the exits equals the one in each state record;
 *   - every address is canonical and every size plausible;
 *   - a unit is used only after it was written; nothing follows a native record;
 * and the counts made while recording, if any, equal those of the trace. */
#include "cmd/cmd.h"
#include "decode/digest.h"
#include "decode/walk.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {{"repair", no_argument, NULL, 'r'}, {0}};

enum { ACCESS_SIZE_LIMIT = 1 << 16 /* xsave with every component there is takes 11 KB */ };

/* What a thread's past asks of its next record. */
struct past {
    bool rsp_known;
    bool wants_state;   /* the last exit changed what only a state record can tell */
    bool wants_syscall; /* the last exit entered the kernel */
    bool left;          /* the thread runs natively */
    u64 rsp;
    u64 target; /* where the next unit must begin; 0: anywhere */
};

struct verifier {
    struct walk walk;
    VEC(struct past) pasts;
    VEC(struct digest) digests; /* of each thread */
    struct trace_counts counts;
};

static struct past *past_of(struct verifier *v, u32 thread)
{
    while (v->pasts.n <= thread)
        vec_push(&v->pasts, (struct past){0});
    return &v->pasts.v[thread];
}

/* -- Records: each returns what is wrong, or NULL ---------------------------------------------- */

/* A trace of control flow alone has no references, and its exits do not tell the stack pointer. */
static const char *state_fault(const struct walk *w, struct past *p, u64 rsp)
{
    bool gaps = w->trace->summary.lost_buffers; /* after one of these, anything may follow */
    if (p->rsp_known && p->rsp != rsp && w->table->refs.n && !gaps)
        return "it states another stack pointer than the exits before it give";
    p->rsp = rsp;
    p->rsp_known = true;
    p->wants_state = false;
    return NULL;
}

/* A record that says where the thread goes on; with which stack, the next state record says. */
static const char *jumped(struct past *p, u64 to)
{
    p->target = to;
    p->rsp_known = false;
    p->wants_state = true;
    return NULL;
}

static const char *partial_fault(const struct walk *w, u32 i, struct past *p)
{
    u64 pc = w->table->units.v[walk_run(w, i).unit].pc;
    if (p->wants_syscall || p->wants_state)
        return "it is partial, and a system call or a state should come first";
    if (p->target && p->target != pc)
        return "its unit does not begin where the exit before it leads";
    p->target = 0;
    p->rsp_known = false;
    return NULL;
}

static const char *guest_record_fault(const struct walk *w, u32 i, struct past *p)
{
    switch (w->batch->exit[i]) {
    case RECORD_state:
        return state_fault(w, p, walk_slot(w, i, 0));
    case RECORD_syscall:
        if (!p->wants_syscall)
            return "it is a system call, but the exit before it does not enter the kernel";
        p->wants_syscall = false;
        if (walk_slot(w, i, 1) == RESULT_RESTARTED)
            p->target = 0;
        return NULL;
    case RECORD_native:
        p->left = true;
        return NULL;
    case RECORD_lost: /* anything may follow */
        *p = (struct past){.rsp = p->rsp, .rsp_known = p->rsp_known};
        return NULL;
    case RECORD_resumed: /* so here, but for the stack pointer */
    case RECORD_entered:
        *p = (struct past){.rsp = walk_slot(w, i, 0), .rsp_known = true};
        return NULL;
    case RECORD_paused:
    case RECORD_mark:
    case RECORD_stack:
        return NULL;
    case RECORD_partial:
        return partial_fault(w, i, p);
    case RECORD_signal:
        if (p->target && p->target != walk_slot(w, i, 2))
            return "it interrupts another pc than the exit before it leads to";
        return jumped(p, walk_slot(w, i, 1));
    case RECORD_sigreturn:
        if (!p->wants_syscall)
            return "it returns from a handler, but the exit before it does not enter the kernel";
        p->wants_syscall = false;
        return jumped(p, walk_slot(w, i, 0));
    case RECORD_stepped:
        if (p->target && p->target != walk_slot(w, i, 0))
            return "it steps elsewhere than the exit before it leads to";
        return jumped(p, walk_slot(w, i, 1));
    default:
        return "it is of no known kind";
    }
}

static u64 rsp_after(const struct walk *w, u32 i, const struct unit_exit *x, u64 rsp)
{
    u64 base = x->rsp_term == TERM_RSP         ? rsp
               : x->rsp_term < TERM_SLOT_LIMIT ? walk_slot(w, i, x->rsp_term)
                                               : 0;
    return base + (u64)x->rsp_disp;
}

static const char *exit_record_fault(const struct walk *w, u32 i, struct past *p)
{
    u32 n = w->batch->exit[i] - FIRST_EXIT_ID;
    const struct unit_exit *x = &w->table->exits.v[n];
    if (x->kind == EXIT_LANDING)
        return "it is a landing pad's, which writes none";
    if (p->wants_syscall)
        return "no system call is recorded between it and the exit that entered the kernel";
    if (p->wants_state)
        return "no state is recorded between it and the exit that changed the state";
    if (p->target && w->table->units.v[x->unit].pc != p->target)
        return "its unit does not begin where the exit before it leads";
    p->rsp = rsp_after(w, i, x, p->rsp);
    p->wants_syscall = x->kind == EXIT_SYSCALL;
    p->wants_state = x->kind == EXIT_STATE;
    p->target = x->target;
    return NULL;
}

static const char *refs_fault(const struct walk *w, u32 i)
{
    const struct batch *b = w->batch;
    for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
        u32 size;
        walk_ref(w, j, &size);
        /* 57 bits: the most that any processor translates. */
        if ((u64)((s64)(b->addr[j] << 7) >> 7) != b->addr[j])
            return "it refers to an address that cannot exist";
        if (size == 0 || size > ACCESS_SIZE_LIMIT)
            return "it refers to an impossible number of bytes";
    }
    return NULL;
}

static const char *record_fault(const struct walk *w, u32 i, struct past *p)
{
    if (p->left)
        return "it comes after its thread left for native code";
    const char *fault = NULL;
    if (w->batch->exit[i] < FIRST_EXIT_ID)
        fault = guest_record_fault(w, i, p);
    else if (i || !w->events.continues)
        fault = exit_record_fault(w, i, p);
    return fault ? fault : refs_fault(w, i);
}

static struct digest *digest_slot(struct verifier *v, u32 thread)
{
    while (v->digests.n <= thread)
        vec_push(&v->digests, (struct digest){0});
    return &v->digests.v[thread];
}

static int check_batch(struct verifier *v, struct err *e)
{
    struct walk *w = &v->walk;
    struct past *p = past_of(v, walk_thread(w));
    for (u32 i = 0; i < w->batch->n_records; i++) {
        const char *fault = record_fault(w, i, p);
        if (fault)
            return walk_fault(w, i, fault, e);
    }
    walk_count(w, &v->counts);
    if (w->trace->summary.digest)
        digest_batch(digest_slot(v, walk_thread(w)), &w->events);
    return 0;
}

/* -- The whole ------------------------------------------------------------------------------- */

static int check_summary(const struct trace *t, const struct trace_counts *n, struct err *e)
{
    const struct trace_summary *s = &t->summary;
    if (!s->counted || !memcmp(&s->counts, n, sizeof *n))
        return 0;
    return err_set(e, "%s: %lu instructions were recorded, but the records hold %lu", t->store.path,
                   (unsigned long)s->counts.instructions, (unsigned long)n->instructions);
}

/* The heads of the chunks count what is in them. */
static int check_heads(struct trace *t, const struct trace_counts *n, struct err *e)
{
    u64 records = 0, instructions = 0, bytes = 0;
    struct pack_head head;
    for (size_t i = 0; i < t->pieces.n; i++) {
        if (trace_head(t, i, &head, e))
            return -1;
        records += head.records;
        instructions += head.instructions;
        bytes += head.bytes;
    }
    if (records == n->records && instructions == n->instructions && bytes == n->bytes)
        return 0;
    return err_set(e, "%s: the heads of its chunks count %lu records and %lu instructions, but there are %lu and %lu",
                   t->store.path, (unsigned long)records, (unsigned long)instructions, (unsigned long)n->records,
                   (unsigned long)n->instructions);
}

static int verify(struct verifier *v, struct trace *t, struct err *e)
{
    int more;
    while ((more = walk_next(&v->walk, e)) > 0)
        if (check_batch(v, e))
            return -1;
    if (more < 0)
        return -1;
    if (!t->complete)
        return err_set(e, "%s", t->trouble.text);
    if (check_heads(t, &v->counts, e) || check_summary(t, &v->counts, e))
        return -1;
    u64 digest = 0;
    for (size_t i = 0; i < v->digests.n; i++)
        digest += digest_of_thread((u32)i, &v->digests.v[i]);
    if (digest == t->summary.digest)
        return 0;
    return err_set(e, "%s: its events are not those that were decoded while it was recorded", t->store.path);
}

/* Write the end that the file lacks, and say what was done. */
static void repair(const char *path)
{
    struct trace t;
    struct err e;
    if (trace_open(&t, path, &e))
        die("%s", e.text);
    if (t.damaged)
        die("%s; only an interrupted recording can be repaired", t.trouble.text);
    if (!t.complete && !t.whole_chunks)
        die("%s; there is nothing in it that could be kept", t.trouble.text);
    if (!t.complete) {
        u64 torn = t.store.size - t.whole_at;
        if (trace_repair(&t, &e))
            die("%s", e.text);
        printf("%s: repaired: %lu chunks kept, %lu bytes of a torn end cut off\n", path,
               (unsigned long)t.whole_chunks, (unsigned long)torn);
    }
    trace_close(&t);
}

int cmd_verify(int argc, char **argv)
{
    struct verifier v = {0};
    struct trace t;
    struct err e;
    bool repairs = false;
    while (next_option(argc, argv, "", options) != -1)
        repairs = true;
    const char *path = only_argument(argc, argv, "TRACE");
    if (repairs)
        repair(path);
    if (trace_open(&t, path, &e))
        die("%s", e.text);
    walk_init(&v.walk, &t);
    if (verify(&v, &t, &e))
        die("%s", e.text);
    const struct trace_counts *n = &v.counts;
    report_trouble(&t);
    printf("%s: ok: %lu chunks, %lu records, %lu events", t.store.path, (unsigned long)t.n_chunks,
           (unsigned long)n->records,
           (unsigned long)(n->instructions + n->loads + n->stores + n->modifies));
    if (t.summary.digest)
        printf(", digest %016lx", (unsigned long)t.summary.digest);
    putchar('\n');
    stdout_flush();
    walk_fini(&v.walk);
    vec_fini(&v.pasts);
    vec_fini(&v.digests);
    trace_close(&t);
    return 0;
}
