/* SPDX-License-Identifier: MIT */
/* The translator's thread: answer requests, run ahead while there are none, sleep when there is
 * nothing ahead. */
#include "host/session.h"

#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* How long to look for the next request before sleeping: a sleeping vCPU takes up to 50 us to wake.
 */
enum { SPIN_PAUSES = 2000 };

/* -- The program's code ----------------------------------------------------------------------- */

static const struct code_page *code_page(struct session *s, u64 page)
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
    struct session *s = ctx;
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

static void forget_code(struct session *s)
{
    for (size_t i = 0; i < CODE_PAGES; i++)
        s->pages[i].page = 0;
}

/* -- Faults ------------------------------------------------------------------------------------ */

/* A rep instruction that faulted after some iterations is told with those. */
static void note_iterations(struct session *s, const struct thread *t, struct fault *f)
{
    u64 at = t->ptr - s->base + RECORD_SLOTS_AT, count;
    if (at < WIRE_BUF_OFF || at > WIRE_SIZE - 8 * RECORD_SLOT_LIMIT)
        return;
    u8 *slots = s->wire + at;
    memcpy(&count, slots + 8 * f->rep.count, 8);
    if (count == t->regs[RCX])
        return;
    for (u32 i = 0; i < f->rep.n_last; i++) {
        memcpy(slots + 8 * f->rep.last[i].slot, &t->regs[f->rep.last[i].reg], 8);
        f->slots = MAX(f->slots, f->rep.last[i].slot + 1);
    }
    f->refs = (u16)(f->refs + f->rep.refs);
    f->insns++;
}

/* Put the program's registers right in the thread block, and say what the unit had recorded. */
static u64 answer_fault(struct session *s, struct thread *t, u64 cache_pc)
{
    struct fault f;
    const u64 spill[] = {t->spill[0], t->spill[1], t->more_spill[0], t->more_spill[1]};
    if (!translate_fault(s->translator, cache_pc, &f))
        return FAULT_UNKNOWN;
    for (u32 i = 0; i < f.n_loans; i++)
        t->regs[f.loan[i]] = spill[i];
    if (f.r10_saved || f.is_return)
        t->regs[R10] = t->r10;
    if (f.is_return) {
        t->regs[RSP] += 8;
        t->pc = t->target;
        return FAULT_RETURN;
    }
    if (f.record_done && s->options->events != EVENTS_none)
        t->ptr -= RECORD_SLOTS_AT + 8ul * f.slots;
    if (f.rep.refs)
        note_iterations(s, t, &f);
    t->pc = f.pc;
    t->partial.unit = f.unit;
    t->partial.insns = f.insns;
    t->partial.refs = f.refs;
    t->partial.slots = f.slots;
    return FAULT_AT;
}

/* -- Requests ---------------------------------------------------------------------------------- */

static void note_refusal(struct session *s, const struct err *why)
{
    if (!s->result->refused) {
        s->result->refused = true;
        s->result->why = *why;
    }
}

/* What the guest wrote is copied before it is looked at: it could change under our eyes. */
static u64 answer(struct session *s, struct thread *t)
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
    case REQ_fault:
        return answer_fault(s, t, arg);
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

static void futex_wake(u32 *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void serve_thread(struct session *s, struct thread *t)
{
    if (load_acquire(&t->req_state) != REQ_POSTED)
        return;
    if (s->stress.slow)
        usleep(200);
    store_relaxed(&t->answer, answer(s, t));
    /* The guest may be spinning or asleep; a wake-up nobody waits for costs little beside a
     * translation. */
    __atomic_store_n(&t->req_state, REQ_ANSWERED, __ATOMIC_SEQ_CST);
    futex_wake(&t->req_state);
}

static bool serve_once(struct session *s)
{
    bool any = false;
    for (u32 word = 0; word < WIRE_THREADS / 64; word++) {
        if (!load_relaxed(&s->control->asking[word]))
            continue;
        u64 asking = __atomic_exchange_n(&s->control->asking[word], 0, __ATOMIC_ACQ_REL);
        any = true;
        for (; asking; asking &= asking - 1)
            serve_thread(s, session_thread(s, word * 64 + (u32)__builtin_ctzll(asking)));
    }
    return any;
}

static void wait_for_bell(struct session *s, u32 seen)
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

void serve_begin(struct session *s)
{
    struct translate_config config = {
        .fetch = fetch,
        .ctx = s,
        .wire = s->wire,
        .base = s->base,
        .jump = s->jump,
        .guest = s->guest,
        .events = s->options->events,
        .no_link = s->stress.nolink,
        .no_ahead = s->stress.noahead,
        .all_gates = s->stress.gates,
        .strict = s->stress.strict,
        .unit_insns = s->stress.single ? 1 : 0,
        .unit_blocks = s->stress.blocks ? 1 : 0,
    };
    s->translator = translator_new(&config);
}

void *serve_main(void *session)
{
    struct session *s = session;
    while (!load_acquire(&s->stopping)) {
        u32 seen = load_acquire(&s->control->bell);
        if (serve_once(s) || translate_ahead(s->translator))
            continue;
        wait_for_bell(s, seen);
    }
    return NULL;
}
