/* SPDX-License-Identifier: MIT */
/* A thread for each state goes through all batches, and gives its state those that it is to see. */
#include "tool/state.h"
#include "tool/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct gait_setup {
    const struct gait_tool *tool;
    char *const *set;
    char why[RING_TEXT];
};

struct state {
    struct ring *ring;
    const struct gait_tool *tool;
    u32 number, of;
    void *state; /* the tool's */
    pthread_t thread;
    struct view own; /* the accesses that are its own, where it sees only some */
};

/* -- The tool ----------------------------------------------------------------------------------- */

static _Noreturn void refuse(struct runner *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void refuse(struct runner *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->ring.control->why, RING_TEXT, fmt, args);
    va_end(args);
    ring_say(&r->ring, RING_refused);
    _exit(1);
}

static const char *tool_fault(const struct gait_tool *t)
{
    bool cut = t->split == GAIT_SPLIT_ADDRESS;
    if (t->api != GAIT_API)
        return "was made for another version of gait.h";
    if (!t->name || !t->begin || !t->batch || !t->finish)
        return "lacks a name, begin, batch or finish";
    if (t->split > GAIT_SPLIT_ADDRESS)
        return "has an unknown split";
    if (t->split != GAIT_SPLIT_NONE && !t->merge)
        return "may be split, but lacks merge";
    if (cut && (!t->split_bytes || t->split_bytes & (t->split_bytes - 1)))
        return "has split_bytes that are not a power of two";
    return NULL;
}

/* Without a slash, dlopen would look for it among the system's libraries. */
static const struct gait_tool *load(struct runner *r)
{
    char path[4096];
    const char *name = r->options->path;
    snprintf(path, sizeof path, "%s%s", strchr(name, '/') ? "" : "./", name);
    void *object = dlopen(path, RTLD_NOW);
    if (!object)
        refuse(r, "the tool %s cannot be loaded: %s; see gait-tool(1)", name, dlerror());
    const struct gait_tool *t = dlsym(object, "gait_tool");
    if (!t)
        refuse(r, "%s is no tool: it has no `const struct gait_tool gait_tool`; see gait.h(3)",
               name);
    const char *fault = tool_fault(t);
    if (fault)
        refuse(r, "the tool %s %s; see gait.h(3)", name, fault);
    return t;
}

/* -- Options ------------------------------------------------------------------------------------ */

static const struct gait_option *find_option(const struct gait_tool *t, const char *name, size_t n)
{
    for (const struct gait_option *o = t->options; o && o->name; o++)
        if (strlen(o->name) == n && !memcmp(o->name, name, n))
            return o;
    return NULL;
}

static void check_settings(struct runner *r, const struct gait_tool *t)
{
    for (char *const *s = r->options->set; s && *s; s++) {
        size_t n = strcspn(*s, "=");
        char names[256] = "";
        if (find_option(t, *s, n))
            continue;
        for (const struct gait_option *o = t->options; o && o->name; o++) {
            size_t at = strlen(names);
            snprintf(names + at, sizeof names - at, "%s%s", at ? ", " : "; there are ", o->name);
        }
        refuse(r, "the tool %s has no option %.*s%s", r->options->path, (int)n, *s,
               names[0] ? names : ", and none at all");
    }
}

const char *gait_option(const struct gait_setup *s, const char *name)
{
    const struct gait_option *o = find_option(s->tool, name, strlen(name));
    const char *value = o ? o->value : NULL;
    for (char *const *x = s->set; x && *x; x++) {
        size_t n = strcspn(*x, "=");
        if (strlen(name) == n && !memcmp(*x, name, n))
            value = (*x)[n] ? *x + n + 1 : "";
    }
    return value;
}

void gait_refuse(struct gait_setup *s, const char *why)
{
    snprintf(s->why, sizeof s->why, "%s", why);
}

/* -- Batches ------------------------------------------------------------------------------------ */

/* Cut an access at the borders of pieces, and keep those that are this state's. */
static void add_pieces(struct state *s, const struct gait_access *a)
{
    const u64 piece = s->tool->split_bytes;
    for (u64 at = a->address, left = a->bytes; left;) {
        u64 n = MIN(left, piece - at % piece);
        if (at / piece % s->of == s->number) {
            struct gait_access own = *a;
            own.address = at;
            own.bytes = (u16)n;
            vec_push(&s->own.accesses, own);
        }
        at += n;
        left -= n;
    }
}

static void batch_of_addresses(struct state *s, struct gait_batch *b)
{
    view_clear(&s->own);
    for (u32 i = 0; i < b->n_accesses; i++)
        add_pieces(s, &b->accesses[i]);
    b->accesses = s->own.accesses.v;
    b->n_accesses = (u32)s->own.accesses.n;
    b->n_runs = s->number ? 0 : b->n_runs;
    b->n_marks = s->number ? 0 : b->n_marks;
    /* What is cut has other numbers than the runs know. */
    for (u32 i = 0; i < b->n_runs; i++) {
        struct gait_run run = b->runs[i];
        run.access = run.n_accesses = 0;
        vec_push(&s->own.runs, run);
    }
    b->runs = s->own.runs.v;
    s->tool->batch(s->state, b);
}

static void *state_run(void *state)
{
    struct state *s = state;
    const enum gait_split split = s->tool->split;
    struct gait_batch b;
    for (u64 n = 0; ring_get(s->ring, n, &b); n++) {
        if (split == GAIT_SPLIT_ADDRESS)
            batch_of_addresses(s, &b);
        else if ((split == GAIT_SPLIT_THREAD ? b.thread : n) % s->of == s->number)
            s->tool->batch(s->state, &b);
        ring_pass(s->ring, s->number, n + 1);
    }
    return NULL;
}

/* -- From beginning to end ---------------------------------------------------------------------- */

static void limit_memory(u64 bytes)
{
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    if (bytes)
        setrlimit(RLIMIT_DATA, &(struct rlimit){bytes, bytes});
}

static void begin_states(struct runner *r, const struct gait_tool *t, struct state *states, u32 n)
{
    struct gait_setup setup = {.tool = t, .set = r->options->set};
    for (u32 i = 0; i < n; i++) {
        states[i] = (struct state){.ring = &r->ring, .tool = t, .number = i, .of = n};
        states[i].state = t->begin(&setup);
        if (!states[i].state)
            refuse(r, "the tool %s cannot begin: %s", r->options->path,
                   setup.why[0] ? setup.why : "its begin returned NULL; see gait.h(3)");
    }
}

static void finish(struct runner *r, const struct gait_tool *t, struct state *states, u32 n)
{
    struct gait_result result = {0};
    for (u32 i = 1; i < n; i++)
        t->merge(states[0].state, states[i].state);
    names_open(&result.names, r->modules);
    t->finish(states[0].state, &result);
    ring_say(&r->ring, RING_prints);
    FILE *f = r->options->results;
    r->options->print(f, &result.result, r->options->top);
    if (fflush(f) || ferror(f))
        refuse(r, "what the tool %s has found cannot be written to standard output: %s",
               r->options->path, strerror(errno));
}

static void run_states(struct runner *r, struct state *states, u32 n)
{
    for (u32 i = 0; i < n; i++) {
        int fault = pthread_create(&states[i].thread, NULL, state_run, &states[i]);
        if (fault)
            refuse(
                r,
                "no thread can be made for the tool %s: %s; give it more --memory, or fewer --jobs",
                r->options->path, strerror(fault));
    }
    for (u32 i = 0; i < n; i++)
        pthread_join(states[i].thread, NULL);
}

void state_main(struct runner *r)
{
    static struct state states[RING_READERS];
    limit_memory(r->options->memory);
    ring_protect(&r->ring);
    const struct gait_tool *t = load(r);
    u32 n = t->split == GAIT_SPLIT_NONE ? 1 : MIN(r->options->jobs, (u32)RING_READERS);
    check_settings(r, t);
    begin_states(r, t, states, n);
    store_release(&r->ring.control->n_readers, n);
    ring_say(&r->ring, RING_ready);
    run_states(r, states, n);
    finish(r, t, states, n);
    ring_say(&r->ring, RING_done);
    _exit(0);
}
