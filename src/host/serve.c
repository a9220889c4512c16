/* SPDX-License-Identifier: MIT */
/* The translator's thread: answer requests, run ahead while there are none, sleep when there is
 * nothing ahead. */
#include "host/process.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long to look for the next request before sleeping: a sleeping vCPU takes up to 50 us to wake.
 */
enum { SPIN_PAUSES = 2000 };

/* -- The program's code ----------------------------------------------------------------------- */

static const struct code_page *code_page(struct process *s, u64 page)
{
    struct code_page *p = &s->pages[page % CODE_PAGES];
    if (p->page == page + 1)
        return p;
    ssize_t n = 0;
    p->changes = !maps_code_is_stable(s, page << 12);
    if (!p->changes)
        n = pread(s->mem_fd, p->bytes, sizeof p->bytes, (off_t)(page << 12));
    p->page = page + 1;
    p->size = n > 0 ? (u32)n : 0;
    return p;
}

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    struct process *s = ctx;
    size_t got = 0;
    while (got < n) {
        u64 at = pc + got, in = at & 4095;
        const struct code_page *p = code_page(s, at >> 12);
        if (in >= p->size)
            break;
        size_t k = MIN(n - got, p->size - in);
        memcpy(buf + got, p->bytes + in, k);
        got += k;
    }
    return got;
}

static void forget_code(struct process *s)
{
    for (size_t i = 0; i < CODE_PAGES; i++)
        s->pages[i].page = 0;
}

/* -- Requests --------------------------------------------------------------------------------- */

static void note_refusal(struct process *s, const struct err *why)
{
    struct run *r = s->run;
    pthread_mutex_lock(&r->lock);
    if (!r->result->went_native) {
        r->result->went_native = true;
        r->result->why = *why;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Tasks that come and go are the main thread's. */
static bool is_for_main(u32 kind)
{
    return kind == REQ_adopt || kind == REQ_exec || kind == REQ_exec_failed;
}

/* What the guest wrote is copied before it is looked at: it could change under our eyes. */
static u64 answer(struct process *s, struct thread *t)
{
    u32 kind = load_relaxed(&t->req_kind);
    u64 arg = load_relaxed(&t->req_arg);
    struct err why;
    struct cache_pc at;
    switch (kind) {
    case REQ_follow_exit:
        at = translate_exit(s->translator, (u32)arg, &why);
        break;
    case REQ_translate_pc:
        at = translate_pc(s->translator, (struct app_pc){arg}, BY_JUMP, &why);
        break;
    case REQ_translate_return:
        at = translate_pc(s->translator, (struct app_pc){arg}, BY_RETURN, &why);
        break;
    case REQ_memory_changed:
        forget_code(s);
        modules_note(s);
        translate_drop(s->translator, arg, load_relaxed(&t->req_end));
        return 1;
    default:
        err_set(&why, "the program sent a request that does not exist (%u)", kind);
        at.v = 0;
    }
    if (!at.v && kind != REQ_follow_exit && code_page(s, arg >> 12)->changes)
        err_set(&why,
                "the code at 0x%llx is generated or can be written, and this version does not "
                "follow such code",
                (unsigned long long)arg);
    if (!at.v)
        note_refusal(s, &why);
    return at.v;
}

static void serve_thread(struct process *s, u32 block)
{
    struct thread *t = process_thread(s, block);
    if (load_acquire(&t->req_state) != REQ_POSTED)
        return;
    if (is_for_main(load_relaxed(&t->req_kind))) {
        follow_post(s, block);
        return;
    }
    if (s->run->stress.slow)
        usleep(200);
    process_answer(t, answer(s, t));
}

static bool serve_once(struct process *s)
{
    bool any = false;
    for (u32 word = 0; word < WIRE_THREADS / 64; word++) {
        if (!load_relaxed(&s->control->asking[word]))
            continue;
        u64 asking = __atomic_exchange_n(&s->control->asking[word], 0, __ATOMIC_ACQ_REL);
        any = true;
        for (; asking; asking &= asking - 1)
            serve_thread(s, word * 64 + (u32)__builtin_ctzll(asking));
    }
    return any;
}

static void wait_for_bell(struct process *s, u32 seen)
{
    struct control *c = s->control;
    struct timespec limit = {0, 100000000};
    for (int i = 0; i < SPIN_PAUSES; i++) {
        if (load_relaxed(&c->bell) != seen)
            return;
        __builtin_ia32_pause();
    }
    __atomic_store_n(&c->host_sleeps, 1, __ATOMIC_SEQ_CST);
    if (load_acquire(&c->bell) == seen && !load_acquire(&s->stopping))
        syscall(SYS_futex, &c->bell, FUTEX_WAIT, seen, &limit, NULL, 0);
    store_relaxed(&c->host_sleeps, 0);
}

void serve_begin(struct process *s)
{
    struct translate_config config = {
        .fetch = fetch,
        .ctx = s,
        .wire = s->wire,
        .base = s->base,
        .jump = s->jump,
        .guest = s->guest,
        .events = s->run->options->events,
        .no_link = s->run->stress.nolink,
        .no_ahead = s->run->stress.noahead,
        .all_gates = s->run->stress.gates,
        .strict = s->run->stress.strict,
        .unit_insns = s->run->stress.single ? 1 : 0,
        .unit_blocks = s->run->stress.blocks ? 1 : 0,
    };
    s->translator = translator_new(&config);
}

void *serve_main(void *process)
{
    struct process *s = process;
    while (!load_acquire(&s->stopping)) {
        u32 seen = load_acquire(&s->control->bell);
        if (serve_once(s) || translate_ahead(s->translator))
            continue;
        wait_for_bell(s, seen);
    }
    return NULL;
}
