/* SPDX-License-Identifier: MIT */
/* The translator'p thread: answer requests, run ahead while there are none, sleep when there is
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
#define SETTLE_SECONDS 0.05

/* -- The program'p code ----------------------------------------------------------------------- */

/* Volatile code is read once for each translation: what is decoded is what will be checked. */
static bool is_fresh(const struct process *p, const struct code_page *c)
{
    return c->kind != CODE_VOLATILE || c->serial == p->serial;
}

static const struct code_page *code_page(struct process *p, u64 page)
{
    struct code_page *c = &p->spare.pages[page % CODE_PAGES];
    if (c->page == page + 1 && is_fresh(p, c))
        return c;
    ssize_t n = 0;
    c->kind = maps_code_kind(p, page << 12);
    if (c->kind != CODE_NONE)
        n = pread(p->mem_fd, c->bytes, sizeof c->bytes, (off_t)(page << 12));
    c->page = page + 1;
    c->size = n > 0 ? (u32)n : 0;
    c->serial = p->serial;
    return c;
}

static void begin(void *ctx)
{
    struct process *p = ctx;
    p->serial++;
}

static enum code_kind kind(void *ctx, u64 pc)
{
    struct process *p = ctx;
    const struct code_page *c = &p->spare.pages[(pc >> 12) % CODE_PAGES];
    return c->page == (pc >> 12) + 1 ? c->kind : maps_code_kind(p, pc);
}

static bool constant(void *ctx, u64 address, u64 *value)
{
    return maps_constant(ctx, address, value);
}

static bool word(void *ctx, u64 address, u64 *value)
{
    struct process *p = ctx;
    return pread(p->mem_fd, value, 8, (off_t)address) == 8;
}

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    struct process *p = ctx;
    size_t got = 0;
    while (got < n) {
        u64 at = pc + got, in = at & 4095;
        const struct code_page *c = code_page(p, at >> 12);
        if (in >= c->size)
            break;
        size_t k = MIN(n - got, c->size - in);
        memcpy(buf + got, c->bytes + in, k);
        got += k;
    }
    return got;
}

void process_forget_code(struct process *p)
{
    for (size_t i = 0; i < CODE_PAGES; i++)
        p->spare.pages[i].page = 0;
}

/* -- Faults ------------------------------------------------------------------------------------ */

/* A rep instruction that faulted after some iterations is told with those. */
static void note_iterations(struct process *p, const struct thread *t, struct fault *f)
{
    u64 at = t->ptr - p->base + RECORD_SLOTS_AT, count;
    if (at < WIRE_BUF_OFF || at > WIRE_SIZE - 8 * RECORD_SLOT_LIMIT)
        return;
    u8 *slots = p->wire + at;
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

/* May it be reported behind its instruction? (int1 is by some processors, int3 by all.) */
static bool is_trap(const struct thread *t)
{
    u64 trapno = t->arrived[ARRIVED_FAULT].trapno;
    return trapno == 1 || trapno == 3;
}

/* Put the program'p registers right in the thread block, and say what the unit had recorded. */
static u64 answer_fault(struct process *p, struct thread *t, u64 cache_pc)
{
    struct fault f;
    const u64 spill[] = {t->spill[0], t->spill[1], t->more_spill[0], t->more_spill[1]};
    bool behind = is_trap(t) && translate_fault(p->translator, cache_pc - 1, &f) && f.trap_len;
    if (!behind && !translate_fault(p->translator, cache_pc, &f))
        return FAULT_UNKNOWN;
    for (u32 i = 0; i < f.n_loans; i++)
        if (f.loan[i] < 16)
            t->regs[f.loan[i]] = spill[i];
    if (f.pointer != R11) {
        t->app_r11 = t->ptr;
        t->ptr = t->regs[f.pointer];
        t->regs[f.pointer] = t->lent;
    }
    if (f.is_check) {
        t->pc = f.pc;
        return FAULT_CHECK;
    }
    if (f.r10_saved || f.is_return)
        t->regs[R10] = t->r10;
    if (f.is_return) {
        t->regs[RSP] += 8;
        t->pc = t->target;
        return FAULT_RETURN;
    }
    if (f.record_done && p->run->options->events != EVENTS_none)
        t->ptr -= RECORD_SLOTS_AT + 8ul * f.slots;
    if (f.rep.refs)
        note_iterations(p, t, &f);
    if (behind) {
        f.pc += f.trap_len;
        f.insns++;
    }
    t->pc = f.pc;
    t->partial.unit = f.unit;
    t->partial.insns = f.insns;
    t->partial.refs = f.refs;
    t->partial.slots = f.slots;
    return FAULT_AT;
}

/* -- Requests ---------------------------------------------------------------------------------- */

static void note_refusal(struct process *p, const struct err *why)
{
    struct run *r = p->run;
    pthread_mutex_lock(&r->lock);
    if (!r->result->refused) {
        r->result->refused = true;
        r->result->why = *why;
    }
    pthread_mutex_unlock(&r->lock);
}

/* Tasks that come and go are the main thread'p. */
static bool is_for_main(u32 kind)
{
    return kind == REQ_adopt || kind == REQ_exec || kind == REQ_exec_failed;
}

static void drop_mapping(struct process *p, u64 address)
{
    const struct map *m = maps_find(p, address);
    if (m)
        translate_drop(p->translator, m->start, m->end);
}

/* A mapping has come, changed or gone; without an end, the one that was or is there. */
static void change_memory(struct process *p, u64 start, u64 end)
{
    if (end == start)
        drop_mapping(p, start);
    process_forget_code(p);
    modules_note(p, start, end);
    if (end == start)
        drop_mapping(p, start);
    else
        translate_drop(p->translator, start, end);
}

static u64 translate(struct process *p, u32 what, u64 arg, u64 more, struct err *why)
{
    switch (what) {
    case REQ_follow_exit:
        return translate_exit(p->translator, (u32)arg, why).v;
    case REQ_translate_pc:
        return translate_pc(p->translator, (struct app_pc){arg}, BY_JUMP, why).v;
    case REQ_translate_return:
        return translate_pc(p->translator, (struct app_pc){arg}, BY_RETURN, why).v;
    case REQ_memory_changed:
        change_memory(p, arg, more);
        return 1;
    case REQ_code_changed:
        return translate_changed(p->translator, (struct app_pc){arg}, more, why).v;
    default:
        err_set(why, "the program sent a request that does not exist (%u)", what);
        return 0;
    }
}

/* What the guest wrote is copied before it is looked at: it could change under our eyes. */
static u64 answer(struct process *p, struct thread *t)
{
    u32 what = load_relaxed(&t->req_kind);
    u64 arg = load_relaxed(&t->req_arg), more = load_relaxed(&t->req_end);
    struct err why;
    if (what == REQ_fault)
        return answer_fault(p, t, arg);
    if (p->run->stress.flush && what != REQ_memory_changed && p->requests++ % 29 == 28)
        translate_flush(p->translator, &why);
    u64 at = translate(p, what, arg, more, &why);
    if (!at) { /* mappings grow and become executable without a call that says so */
        process_forget_code(p);
        modules_note(p, 0, 0);
        at = translate(p, what, arg, more, &why);
    }
    if (!at)
        note_refusal(p, &why);
    return !at && translator_is_full(p->translator) ? ANSWER_LEAVE : at;
}

static void serve_thread(struct process *p, u32 block)
{
    struct thread *t = process_thread(p, block);
    if (load_acquire(&t->req_state) != REQ_POSTED)
        return;
    if (is_for_main(load_relaxed(&t->req_kind))) {
        follow_post(p, block);
        return;
    }
    if (p->run->stress.slow)
        usleep(200);
    u64 a = answer(p, t);
    store_relaxed(&t->answer_epoch, p->epoch);
    process_answer(t, a);
}

void serve_fault(struct process *p, u32 block)
{
    if (load_relaxed(&process_thread(p, block)->req_kind) == REQ_fault)
        serve_thread(p, block);
}

static bool serve_once(struct process *p)
{
    bool any = false;
    for (u32 word = 0; word < WIRE_THREADS / 64; word++) {
        if (!load_relaxed(&p->control->asking[word]))
            continue;
        u64 asking = __atomic_exchange_n(&p->control->asking[word], 0, __ATOMIC_ACQ_REL);
        any = true;
        for (; asking; asking &= asking - 1)
            serve_thread(p, word * 64 + (u32)__builtin_ctzll(asking));
    }
    return any;
}

static void wait_for_bell(struct process *p, u32 seen)
{
    struct control *c = p->control;
    struct timespec limit = {0, 100000000};
    for (int i = 0; i < SPIN_PAUSES; i++) {
        if (load_relaxed(&c->bell) != seen)
            return;
        __builtin_ia32_pause();
    }
    __atomic_store_n(&c->host_sleeps, 1, __ATOMIC_SEQ_CST);
    if (load_acquire(&c->bell) == seen && !load_acquire(&p->stopping))
        syscall(SYS_futex, &c->bell, FUTEX_WAIT, seen, &limit, NULL, 0);
    store_relaxed(&c->host_sleeps, 0);
}

/* Of the callers of functions, 73 of 100 are seen with 1, 96 with 16, 99 with 64 (perl, bench/novel); of a budget of 2 ms, 64 leave too little for what is new. */
static u32 linger(const struct run_options *o)
{
    enum { MOST = 64 };
    double milliseconds = o->budget.seconds * 1e3;
    return milliseconds > 0 && milliseconds < MOST ? MAX((u32)milliseconds, 1u) : MOST;
}

void serve_begin(struct process *p)
{
    struct translate_config config = {
        .fetch = fetch,
        .ctx = p,
        .kind = kind,
        .constant = p->run->stress.apart ? NULL : constant,
        .word = word,
        .begin = begin,
        .dropped = epoch_dropped,
        .settle = epoch_settle,
        .stop = epoch_stop,
        .go = epoch_go,
        .wire = p->wire,
        .base = p->base,
        .jump = p->jump,
        .guest = p->guest,
        .events = p->run->options->events,
        .selection = select_kind(p->run->options),
        .spot = select_spot,
        .novel = p->run->options->novel,
        .linger = linger(p->run->options),
        .has_budget = p->run->options->budget.seconds > 0,
        .no_link = p->run->stress.nolink,
        .no_ahead = p->run->stress.noahead,
        .all_gates = p->run->stress.gates,
        .older = p->run->stress.older,
        .stay = p->run->stress.cold,
        .strict = p->run->stress.strict,
        .cache_size = p->run->stress.tinycache ? 384 << 10 : 0,
        .exit_limit = p->run->stress.leave ? 6000 : 0,
        .unit_insns = p->run->stress.single ? 1 : 0,
        .unit_blocks = p->run->stress.blocks ? 1 : 0,
    };
    epoch_begin(p);
    bool pays = !p->run->options->novel && p->run->options->events != EVENTS_values;
    struct spare *s = &p->spare;
    if (!s->translator) {
        s->translator = translator_new(&config);
        s->heat = heat_new();
    } else {
        heat_renew(s->heat, translator_table(s->translator)->units.n);
        translator_renew(s->translator, &config);
    }
    p->translator = s->translator;
    if (!p->run->stress.cold && !p->run->stress.single && !p->run->stress.nolink && pays)
        p->heat = s->heat;
}

/* Quiet units of code that has become familiar are looked for now and then, while there is nothing else to do. */
static bool settle(struct process *p)
{
    if (!p->run->options->novel)
        return false;
    if (translate_settle(p->translator, false))
        return true;
    double now = monotonic();
    if (now < p->settles_at)
        return false;
    p->settles_at = now + SETTLE_SECONDS;
    return translate_settle(p->translator, true);
}

void *serve_main(void *process)
{
    struct process *p = process;
    budget_yield(p, true);
    while (!load_acquire(&p->stopping)) {
        u32 seen = load_acquire(&p->control->bell);
        if (serve_once(p) || translate_ahead(p->translator) || heat_translate(p) || translate_bound(p->translator) || settle(p))
            continue;
        wait_for_bell(p, seen);
    }
    return NULL;
}
