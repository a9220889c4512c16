/* SPDX-License-Identifier: MIT */
/* One traced process: shared pages, and the threads that serve and drain them.
 *
 * The kernel marks a word in the shared pages when gait dies, however it dies; the guest looks at it
 * whenever it would wait for us. The word is a lock of the main thread on its robust list. The list's
 * node lies on a page of our own right before the pages that the program can write. */
#include "host/process.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* -- Life --------------------------------------------------------------------------------------- */

static struct robust_list_head life = {
    .list = {&life.list},
    .futex_offset = WIRE_NODE_ROOM + WIRE_CTL_OFF,
};

static struct robust_list *life_node(const struct process *p)
{
    return (struct robust_list *)(void *)(p->wire - WIRE_NODE_ROOM);
}

static void begin_life(struct process *p)
{
    struct robust_list *node = life_node(p);
    check(syscall(SYS_set_robust_list, &life, sizeof life) == 0);
    store_release(&p->control->host_life, (u32)gettid());
    node->next = life.list.next;
    life.list.next = node;
}

static void end_life(struct process *p)
{
    struct robust_list *node = life_node(p), *at = &life.list;
    while (at->next != node && at->next != &life.list)
        at = at->next;
    if (at->next == node)
        at->next = node->next;
    /* Should a task still run on these pages, nobody will answer it. */
    __atomic_fetch_or(&p->control->host_life, FUTEX_OWNER_DIED, __ATOMIC_SEQ_CST);
}

/* -- Make and unmake ---------------------------------------------------------------------------- */

struct process *process_new(struct run *r, pid_t pid)
{
    struct process *p = calloc(1, sizeof *p);
    check(p != NULL);
    p->run = r;
    p->pid = pid;
    p->pid_fd = p->mem_fd = -1;
    if (r->spares.n)
        p->spare = r->spares.v[--r->spares.n];
    else
        p->spare.pages = calloc(CODE_PAGES, sizeof *p->spare.pages);
    check(p->spare.pages && pthread_mutex_init(&p->modules_lock, NULL) == 0);
    process_forget_code(p);
    return p;
}

void process_free(struct process *p)
{
    free(p->drains);
    if (p->wire) {
        if (p->control)
            end_life(p);
        munmap(p->wire - WIRE_NODE_ROOM, WIRE_NODE_ROOM + WIRE_SIZE);
    }
    if (p->mem_fd >= 0)
        close(p->mem_fd);
    if (p->pid_fd >= 0)
        close(p->pid_fd);
    modules_fini(p);
    vec_fini(&p->tracks);
    vec_fini(&p->sharers);
    pthread_mutex_destroy(&p->modules_lock);
    vec_push(&p->run->spares, p->spare);
    free(p);
}

void process_begin(struct process *p)
{
    vec_push(&p->sharers, ((struct sharer){p->seen, p->number}));
    begin_life(p);
    serve_begin(p);
    modules_note(p, 0, 0);
}

void process_serve(struct process *p)
{
    vec_push(&p->run->processes, p);
    follow_watch(p);
    check(pthread_create(&p->serve_thread, NULL, serve_main, p) == 0);
    drain_begin(p);
}

/* -- The end ------------------------------------------------------------------------------------ */

static void ring(u32 *bell)
{
    __atomic_fetch_add(bell, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void stop_threads(struct process *p)
{
    __atomic_store_n(&p->stopping, 1, __ATOMIC_SEQ_CST);
    ring(&p->control->bell);
    ring(&p->control->drain_bell);
    pthread_join(p->serve_thread, NULL);
    drain_end(p);
}

static void collect(struct process *p)
{
    struct run_result *result = p->run->result;
    struct run_stats *r = &result->stats;
    const struct control *c = p->control;
    struct translate_stats x = translator_stats(p->translator);
    for (u32 i = 0; i < MIN(c->blocks, (u32)WIRE_THREADS); i++) {
        const struct thread *t = process_thread(p, i);
        r->requests += t->n_requests;
        r->gates += t->n_gates;
        r->indirect_misses += t->n_indirect_misses;
        r->return_misses += t->n_return_misses;
        r->syscalls += t->n_syscalls;
        r->rests += t->n_rests;
    }
    r->processes++;
    r->threads += c->threads;
    r->untraced += c->untraced;
    r->full += translator_is_full(p->translator);
    r->stepped += c->stepped;
    r->lost_buffers += c->lost_buffers;
    r->lost_bytes += c->lost_bytes;
    r->buffer_waits += c->n_waits;
    r->buffers += p->taken;
    r->record_bytes += p->record_bytes;
    result->counts.bytes += p->record_bytes;
    r->units += x.units;
    r->hot += x.hot;
    r->settled += x.settled;
    r->dropped += x.dropped;
    r->changed += x.changed;
    r->flushes += x.flushes;
    r->insns += x.insns;
    r->app_bytes += x.app_bytes;
    r->cache_bytes += x.cache_bytes;
    r->ahead += x.ahead;
    r->doors += x.doors;
    r->links += x.links;
}

static void forget(struct process *p)
{
    struct run *r = p->run;
    for (size_t i = 0; i < r->processes.n; i++)
        if (r->processes.v[i] == p)
            r->processes.v[i] = r->processes.v[--r->processes.n];
    for (size_t i = r->execing.n; i-- > 0;)
        if (r->execing.v[i].process == p)
            r->execing.v[i] = r->execing.v[--r->execing.n];
    pthread_mutex_lock(&r->lock);
    for (size_t i = r->posted.n; i-- > 0;)
        if (r->posted.v[i].process == p)
            r->posted.v[i] = r->posted.v[--r->posted.n];
    pthread_mutex_unlock(&r->lock);
}

void process_end(struct process *p)
{
    struct run_result *result = p->run->result;
    stop_threads(p);
    collect(p);
    for (u32 i = 0; i < p->n_drains && !result->undecodable; i++)
        if (p->drains[i].undecodable) {
            result->undecodable = true;
            result->decode_error = p->drains[i].decode_error;
        }
    forget(p);
    process_free(p);
}

void process_answer(struct thread *t, u64 answer)
{
    store_relaxed(&t->answer, answer);
    /* The guest may be spinning or asleep; a wake-up nobody waits for costs little beside a
     * translation. */
    __atomic_store_n(&t->req_state, REQ_ANSWERED, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &t->req_state, FUTEX_WAKE, 1, NULL, NULL, 0);
}
