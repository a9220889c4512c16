/* SPDX-License-Identifier: MIT */
/* Whatever the number of threads, works are taken in exactly the order of the turns, part by part, and nothing is lost or merged
 * twice: turns without works, with more than fit, opened late, of several memories and orders at once. */
#include "analyze/pipeline.h"
#include "test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { ORDERS = 3, MEMORIES = 3, WORKERS = 8, THREADS = 5, SECONDS = 100 };

static u64 seed = 1;
static u64 rnd(u64 below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (seed >> 24) % below;
}

/* -- What is to be done ------------------------------------------------------------------------- */

/* A stretch: so many batches, of so many references each; each has a number that goes up along the order. */
struct plan_turn {
    u32 memory, batches, refs;
    u32 parted; /* of so many batches, all but the last are unfinished */
    u32 late;   /* microseconds before it is opened, and before its first batch */
    u32 slow;
    u64 first;
};

struct plan {
    const char *name;
    u32 orders, memories;
    u32 nap, each; /* one work of so many takes so many microseconds to be taken */
    struct {
        VEC(struct plan_turn) turns;
        u64 batches;
    } order[ORDERS];
};

static u32 thread_of(u64 turn)
{
    return (u32)(turn % THREADS);
}

static void add_turn(struct plan *p, u32 order, struct plan_turn t)
{
    t.first = p->order[order].batches;
    t.memory = (u32)rnd(p->memories);
    p->order[order].batches += t.batches;
    vec_push(&p->order[order].turns, t);
}

/* -- Analyses that look on ---------------------------------------------------------------------- */

/* What goes wrong is counted: CHECK is for one thread. */
enum wrong { WRONG_order, WRONG_overlap, WRONG_work, WRONG_alone, WRONG_thread, WRONG_LIMIT };
static const char *const wrong_names[] = {
    [WRONG_order] = "works were taken out of order",
    [WRONG_overlap] = "a part was taken by two threads at once",
    [WRONG_work] = "a work was used before it was free, or taken while it was made",
    [WRONG_alone] = "two threads made or merged at once",
    [WRONG_thread] = "a work has records of another thread or memory",
};

struct study {
    bool takes;
    u32 parts; /* at most; 0: as many as workers */
    u32 n_parts;
    u32 nap, each;
    u32 alone;                 /* atomic */
    u32 taking[WORKERS];       /* atomic */
    u64 next[ORDERS][WORKERS]; /* the batch that comes next in an order, by part */
    u64 added, made, merged,
        ended; /* `added`: the sum of the numbers + 1 of all batches that were merged */
    u64 wrong[WRONG_LIMIT]; /* atomic */
};

struct memory {
    struct study *study;
    u32 order, number;
};

struct seen {
    struct memory *memory;
    u32 busy; /* atomic */
    bool is_open, unfinished;
    u32 thread;
    u32 taken; /* parts; atomic */
    u64 added;
    VEC(u64) batches;
};

static void wrong(struct study *s, enum wrong what)
{
    __atomic_fetch_add(&s->wrong[what], 1, __ATOMIC_RELAXED);
}

static void enter(struct study *s, u32 *busy, enum wrong what)
{
    if (__atomic_exchange_n(busy, 1, __ATOMIC_RELAXED))
        wrong(s, what);
}

static void leave(u32 *busy)
{
    store_relaxed(busy, 0);
}

static int begin(void *study, u32 workers, struct err *e)
{
    struct study *s = study;
    if (s->parts > WORKERS)
        return err_set(e, "there are too many parts");
    s->n_parts = s->parts ? MIN(s->parts, workers) : workers;
    return (int)s->n_parts;
}

static void *begin_memory(void *study, u32 number, const struct unit_table *t)
{
    struct study *s = study;
    struct memory *m = malloc(sizeof *m);
    (void)t;
    enter(s, &s->alone, WRONG_alone);
    *m = (struct memory){s, number / MEMORIES, number};
    leave(&s->alone);
    return m;
}

static void end_memory(void *memory)
{
    struct memory *m = memory;
    enter(m->study, &m->study->alone, WRONG_alone);
    m->study->ended++;
    leave(&m->study->alone);
    free(m);
}

static void *make_work(void *memory)
{
    struct memory *m = memory;
    struct seen *w = calloc(1, sizeof *w);
    w->memory = m;
    w->taken = m->study->takes ? m->study->n_parts : 0;
    __atomic_fetch_add(&m->study->made, 1, __ATOMIC_RELAXED);
    return w;
}

/* The last to use it was done with it. */
static void open_work(void *work, u32 thread)
{
    struct seen *w = work;
    struct study *s = w->memory->study;
    enter(s, &w->busy, WRONG_work);
    if (s->takes && load_acquire(&w->taken) != s->n_parts)
        wrong(s, WRONG_work);
    w->taken = 0;
    w->thread = thread;
    w->is_open = true;
    w->batches.n = 0;
    leave(&w->busy);
}

/* A batch says in its addresses which one it is. */
static void add(void *work, const struct events *e)
{
    struct seen *w = work;
    struct study *s = w->memory->study;
    enter(s, &w->busy, WRONG_work);
    if (!w->is_open || (w->batches.n && e->continues != w->unfinished)) /* a work begins and ends anywhere */
        wrong(s, WRONG_work);
    if (e->batch->addr[1] != w->thread || e->batch->addr[2] != w->memory->number)
        wrong(s, WRONG_thread);
    w->unfinished = e->unfinished;
    w->added += e->batch->addr[0] + 1;
    vec_push(&w->batches, e->batch->addr[0]);
    leave(&w->busy);
}

static void take(void *memory, void *work, u32 part)
{
    struct memory *m = memory;
    struct seen *w = work;
    struct study *s = m->study;
    enter(s, &s->taking[part], WRONG_overlap);
    if (w->memory != m)
        wrong(s, WRONG_work);
    for (size_t i = 0; i < w->batches.n; i++)
        if (w->batches.v[i] != s->next[m->order][part]++)
            wrong(s, WRONG_order);
    if (s->nap && w->batches.v[0] % s->each == part)
        usleep(s->nap);
    __atomic_fetch_add(&w->taken, 1, __ATOMIC_RELEASE);
    leave(&s->taking[part]);
}

static void merge(void *memory, void *work)
{
    struct memory *m = memory;
    struct seen *w = work;
    struct study *s = m->study;
    enter(s, &s->alone, WRONG_alone);
    if (s->takes && w->taken != s->n_parts)
        wrong(s, WRONG_work);
    s->added += w->added;
    s->merged++;
    vec_fini(&w->batches);
    free(w);
    leave(&s->alone);
}

static const struct analysis taker = {.name = "taker",
                                      .begin = begin,
                                      .memory = begin_memory,
                                      .end = end_memory,
                                      .work = make_work,
                                      .open = open_work,
                                      .add = add,
                                      .take = take,
                                      .merge = merge};
static const struct analysis counter = {.name = "counter",
                                        .begin = begin,
                                        .memory = begin_memory,
                                        .end = end_memory,
                                        .work = make_work,
                                        .open = open_work,
                                        .add = add,
                                        .merge = merge};

/* -- A run -------------------------------------------------------------------------------------- */

/* The threads of an order, which claim its turns one after the other. */
struct group {
    const struct plan *plan;
    u32 number;
    struct pipe_order *order;
    struct pipe_memory *memory[MEMORIES];
    u64 next; /* atomic */
    pthread_t thread[WORKERS];
};

static void run_turn(struct group *g, struct batch *b, u64 number)
{
    const struct plan_turn *t = &g->plan->order[g->number].turns.v[number];
    bool unfinished = false;
    if (t->late)
        usleep(t->late);
    struct stretch *s = pipeline_open(g->memory[t->memory], number, thread_of(number));
    if (t->slow)
        usleep(t->slow);
    for (u32 i = 0; i < t->batches; i++) {
        b->addr[0] = t->first + i;
        b->addr[1] = thread_of(number);
        b->addr[2] = g->number * MEMORIES + t->memory;
        b->n_refs = t->refs;
        b->n_records = 1;
        struct events e = {.batch = b, .continues = unfinished};
        e.unfinished = unfinished = t->parted && i + 1 < t->batches && (i + 1) % t->parted;
        pipeline_add(s, &e);
    }
    pipeline_close(s);
}

static void *group_main(void *group)
{
    struct group *g = group;
    struct batch *b = calloc(1, sizeof *b);
    for (u64 i; (i = __atomic_fetch_add(&g->next, 1, __ATOMIC_RELAXED)) <
                g->plan->order[g->number].turns.n;)
        run_turn(g, b, i);
    free(b);
    return NULL;
}

static void begin_group(struct group *g, struct pipeline *p, u32 workers)
{
    g->order = pipeline_order(p);
    for (u32 m = 0; m < g->plan->memories; m++)
        g->memory[m] = pipeline_begin(g->order, g->number * MEMORIES + m, NULL);
    for (u32 i = 0; i < workers; i++)
        pthread_create(&g->thread[i], NULL, group_main, g);
}

/* While others may still run. */
static void end_group(struct group *g, u32 workers)
{
    for (u32 i = 0; i < workers; i++)
        pthread_join(g->thread[i], NULL);
    for (u32 m = 0; m < g->plan->memories; m++)
        pipeline_end(g->memory[m]);
    pipeline_order_free(g->order);
}

static void check_study(const struct study *s, const struct plan *p, u32 workers)
{
    u64 sum = 0;
    for (u32 o = 0; o < p->orders; o++) {
        u64 n = p->order[o].batches;
        sum += n * (n + 1) / 2;
        for (u32 k = 0; s->takes && k < s->n_parts; k++)
            CHECK_CASE(s->next[o][k] == n, "%s, %u threads: part %u took %lu of %lu", p->name,
                       workers, k, (unsigned long)s->next[o][k], (unsigned long)n);
    }
    CHECK_CASE(s->added == sum, "%s, %u threads: what was added was not merged once", p->name,
               workers);
    CHECK_CASE(s->made == s->merged && s->made > 0, "%s, %u threads: %lu works made, %lu merged",
               p->name, workers, (unsigned long)s->made, (unsigned long)s->merged);
    CHECK(s->ended == p->orders * p->memories);
    for (u32 i = 0; i < WRONG_LIMIT; i++)
        CHECK_CASE(!s->wrong[i], "%s, %u threads: %s", p->name, workers, wrong_names[i]);
}

static const char *doing; /* for the guard */

/* Two that take, one of them in a single part, and one that counts; or that one alone. */
static void run(const struct plan *p, u32 workers, bool counts_only)
{
    static const struct analysis *const chosen[] = {&counter, &taker, &taker};
    struct study study[] = {
        {0}, {.takes = true, .nap = p->nap, .each = p->each}, {.takes = true, .parts = 1}};
    void *studies[] = {&study[0], &study[1], &study[2]};
    const u32 n = counts_only ? 1 : 3;
    struct group group[ORDERS] = {0};
    struct err e;
    u64 turns = 0;
    doing = p->name;
    alarm(SECONDS);
    struct pipeline *line = pipeline_new(chosen, studies, n, workers, &e);
    CHECK(line != NULL);
    for (u32 o = 0; o < p->orders; o++) {
        group[o].plan = p;
        group[o].number = o;
        turns += p->order[o].turns.n;
        begin_group(&group[o], line, workers);
    }
    for (u32 o = 0; o < p->orders; o++)
        end_group(&group[o], workers);
    alarm(0);
    for (u32 i = 0; i < n; i++)
        check_study(&study[i], p, workers);
    CHECK(pipeline_stats(line).stretches == turns);
    CHECK(pipeline_stats(line).works >= study[0].made);
    pipeline_free(line);
}

static void run_all(struct plan *p)
{
    for (u32 workers = 1; workers <= WORKERS; workers *= 2) {
        run(p, workers, false);
        run(p, workers, true);
    }
    for (u32 o = 0; o < p->orders; o++)
        vec_fini(&p->order[o].turns);
}

static void on_alarm(int sig)
{
    (void)sig;
    static const char head[] = "test_pipeline: nothing has ended for a long time: ";
    if (write(2, head, sizeof head - 1) < 0 || write(2, doing, strlen(doing)) < 0 ||
        write(2, "\n", 1) < 0)
        _exit(2);
    _exit(1);
}

/* -- Plans -------------------------------------------------------------------------------------- */

static struct plan_turn any_turn(void)
{
    static const u32 refs[] = {0, 100, 4096, 16384};
    return (struct plan_turn){.batches = (u32)rnd(3) ? (u32)rnd(8) : 0,
                              .refs = refs[rnd(ARRAY_LEN(refs))],
                              .parted = (u32)rnd(3) ? 0 : 3};
}

static void test_one_order(void)
{
    struct plan p = {.name = "turns of one memory, many without works", .orders = 1, .memories = 1};
    for (u32 i = 0; i < 600; i++)
        add_turn(&p, 0, any_turn());
    run_all(&p);
}

static void test_many_orders(void)
{
    struct plan p = {.name = "three orders at once, of three memories each",
                     .orders = ORDERS,
                     .memories = MEMORIES,
                     .nap = 20,
                     .each = 64};
    for (u32 i = 0; i < 900; i++)
        add_turn(&p, (u32)rnd(ORDERS), any_turn());
    run_all(&p);
}

static void test_nothing(void)
{
    struct plan p = {.name = "turns without works, and one with", .orders = 1, .memories = 1};
    for (u32 i = 0; i < 200; i++)
        add_turn(&p, 0, (struct plan_turn){.batches = i == 150, .refs = 1});
    run_all(&p);
}

/* More works than a turn has room for; those behind it wait, too many of them. */
static void test_many_works(void)
{
    struct plan p = {.name = "more works than there is room for, taken slowly",
                     .orders = 1,
                     .memories = 2,
                     .nap = 20000,
                     .each = 2048};
    for (u32 i = 0; i < 10; i++)
        add_turn(&p, 0,
                 (struct plan_turn){
                     .batches = i % 3 ? 700 : 3000, .refs = 4096, .slow = i % 3 ? 0 : 20000});
    run_all(&p);
}

/* A thread has its turn, but is late to open it: more turns than may be under way are claimed meanwhile. */
static void test_late_turns(void)
{
    struct plan p = {.name = "turns that are opened late", .orders = 1, .memories = 1};
    for (u32 i = 0; i < 400; i++)
        add_turn(
            &p, 0,
            (struct plan_turn){.batches = i % 2, .refs = 1, .late = i % 100 == 50 ? 30000 : 0});
    run_all(&p);
}

static void test_refusal(void)
{
    static const struct analysis *const chosen[] = {&counter, &taker};
    struct study study[] = {{0}, {.takes = true, .parts = WORKERS + 1}};
    void *studies[] = {&study[0], &study[1]};
    struct err e;
    CHECK(pipeline_new(chosen, studies, 2, 4, &e) == NULL);
    CHECK(!strcmp(e.text, "there are too many parts"));
}

int main(void)
{
    signal(SIGALRM, on_alarm);
    test_refusal();
    test_nothing();
    test_one_order();
    test_many_orders();
    test_many_works();
    test_late_turns();
    return test_end("test_pipeline");
}
