/* SPDX-License-Identifier: MIT */
/* Tools that behave badly, as `how` says; with -DSHAPE, one that is made badly. */
#include <gait.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPOILT = 30 /* which batch it happens in */ };

static const char *how = "not";

static int is(const char *what)
{
    return !strcmp(how, what);
}

static volatile int *volatile nowhere;

static void crash(void)
{
    *nowhere = 1;
}

static void loop(void)
{
    for (volatile int i = 0;; i++)
        ;
}

static void leak(void)
{
    for (;;)
        memset(malloc(1 << 20), 1, 1 << 20);
}

static void handle(int sig)
{
    (void)sig;
}

static void change_signals(void)
{
    for (int i = 1; i < 65; i++)
        signal(i, i % 2 ? handle : SIG_IGN);
}

static void close_all(void)
{
    for (int i = 0; i < 1024; i++)
        close(i);
}

static void *begin(struct gait_setup *setup)
{
    how = gait_option(setup, "how");
    if (is("begin-crash"))
        crash();
    if (is("begin-loop"))
        loop();
    if (is("begin-exit"))
        exit(0);
    if (is("begin-nothing"))
        return NULL;
    if (is("begin-refuse"))
        return gait_refuse(setup, "the moon is not full"), NULL;
    if (is("signals"))
        change_signals();
    return calloc(1, sizeof(uint64_t));
}

static void spoil(const struct gait_batch *b)
{
    if (is("crash"))
        crash();
    if (is("abort"))
        abort();
    if (is("write-batch"))
        ((struct gait_batch *)b)->runs ? ((struct gait_run *)b->runs)->n_insns++ : (uint32_t)0;
    if (is("write-code"))
        ((uint8_t *)b->code)[0] = 0xcc;
    if (is("loop"))
        loop();
    if (is("leak"))
        leak();
    if (is("exit"))
        exit(0);
    if (is("close"))
        close_all();
    if (is("garbage"))
        puts("garbage }{"), fflush(stdout);
    if (is("kill-keeper")) {
        kill(getppid(), SIGKILL);
        pause();
    }
}

static void batch(void *state, const struct gait_batch *b)
{
    static uint64_t n;
    if (__atomic_add_fetch(&n, 1, __ATOMIC_RELAXED) == SPOILT)
        spoil(b);
    *(uint64_t *)state += 1;
}

static void merge(void *into, void *from)
{
    if (is("merge-crash"))
        crash();
    *(uint64_t *)into += *(uint64_t *)from;
    free(from);
}

static void finish(void *state, struct gait_result *r)
{
    if (is("finish-crash"))
        crash();
    if (is("finish-loop"))
        loop();
    struct gait_table *t = gait_table(r, GAIT_FACTS, "bad", "what a bad tool has seen");
    gait_column(t, GAIT_COUNT, "batches");
    if (!is("no-row"))
        gait_row(t, *(uint64_t *)state);
    free(state);
}

static const struct gait_option options[] = {
    {"how", "not", "what it does"}, {"other", "x", "nothing"}, {0}};

enum { GOOD, API, NAME, BEGIN, BATCH, FINISH, MERGE, UNKNOWN_SPLIT, PIECES, SYMBOL };
#ifndef SHAPE
#define SHAPE GOOD
#endif

#if SHAPE == 9
const struct gait_tool no_such_tool = {
#else
const struct gait_tool gait_tool = {
#endif
    .api = SHAPE == API ? GAIT_API + 1 : GAIT_API,
    .name = SHAPE == NAME ? NULL : "bad",
    .options = options,
    .split = SHAPE == UNKNOWN_SPLIT ? (enum gait_split)9
             : SHAPE == PIECES      ? GAIT_SPLIT_ADDRESS
                                    : GAIT_SPLIT_TIME,
    .split_bytes = 48,
    .begin = SHAPE == BEGIN ? NULL : begin,
    .batch = SHAPE == BATCH ? NULL : batch,
    .merge = SHAPE == MERGE ? NULL : merge,
    .finish = SHAPE == FINISH ? NULL : finish,
};
