/* SPDX-License-Identifier: MIT */
/* What of a thread's stack tells who called whom, for those who read its records behind a gap. */
#include "guest/guest.h"

/* What of a stack tells who called whom: return addresses, and saved frame pointers. Other words may look the same. */
struct gathering {
    u64 slot[RECORD_stack_slots]; /* so many words, pc, rbp; where each word is, and what; time */
    u32 records;
    u64 stack, code, code_size; /* where these begin; how far it is to the last code */
    bool is_careful;            /* no fault may happen */
};
enum { WORDS_AT = 3, STACK_SCAN = 256 << 10, STACK_RECORDS = 64 };

/* Whoever looks for the end of a stack meets faults. They are fatal where the kernel blocks their signals, too (see take_sent); the way back from one makes the
 * kernel forget a call that the thread is to go on with; and whoever traces the program would see them. */
static bool may_fault(const struct thread *t)
{
    const u64 faults = SIG_BIT(SIGSEGV_) | SIG_BIT(SIGBUS_);
    u64 mask = 0;
    if (t->blocked & faults)
        kernel(__NR_rt_sigprocmask, 0, 0, (u64)(uintptr_t)&mask, 8);
    return !(mask & faults) && !goes_on_with_call(t) && !load_relaxed(&control(t)->is_watched);
}

/* Nonzero if it is not there. */
static u32 read(const struct thread *t, const struct gathering *g, void *to, u64 from, u64 n)
{
    u64 here[2] = {(u64)(uintptr_t)to, n}, there[2] = {from, n};
    if (!g->is_careful)
        return copy_in(to, from, n);
    return kernel6(__NR_process_vm_readv, t->pid, (u64)(uintptr_t)here, 1, (u64)(uintptr_t)there, 1, 0) != (s64)n;
}

/* Is it behind a call? */
static bool is_return_address(const struct thread *t, const struct gathering *g, u64 word)
{
    static const u8 indirect[] = {6, 5, 4, 2, 1}; /* where ff /2 stands among the 8 bytes before, by its length */
    const struct control *c = control(t);
    bool is_code = c->n_code > CODE_RANGES;
    u8 before[8];
    if (word - g->code >= g->code_size)
        return false;
    for (u32 i = 0; i < MIN(c->n_code, (u32)CODE_RANGES) && !is_code; i++)
        is_code = word - c->code[i].start < c->code[i].end - c->code[i].start;
    if (!is_code || read(t, g, before, word - 8, sizeof before))
        return false;
    bool is_call = before[3] == 0xe8;
    for (u32 i = 0; i < sizeof indirect; i++)
        is_call |= before[indirect[i]] == 0xff && (before[indirect[i] + 1] & 0x38) == 0x10;
    return is_call;
}

/* Of a frame pointer, next to it there is one: above the saved pointer it leads to, or below the frame. */
static bool is_of_use(const struct thread *t, const struct gathering *g, u64 word)
{
    u64 next;
    if (is_return_address(t, g, word)) /* code may be mapped right behind a stack, too */
        return true;
    return word - g->stack < STACK_SCAN && ((!read(t, g, &next, word + 8, 8) && is_return_address(t, g, next)) ||
                                            (!read(t, g, &next, word - 8, 8) && is_return_address(t, g, next)));
}

static void put_gathered(struct thread *t, struct gathering *g)
{
    g->slot[RECORD_stack_slots - 1] = time_stamp(t);
    put_record(t, RECORD_stack, RECORD_stack_slots, g->slot);
    g->slot[0] = 0;
    g->records++;
}

static bool has_room(const struct thread *t, const struct gathering *g)
{
    return g->records < STACK_RECORDS && !buffer_is_full(t);
}

static void gather(struct thread *t, struct gathering *g, u64 at, const u64 *word, u32 n)
{
    for (u32 i = 0; i < n && has_room(t, g); i++) {
        if (!is_of_use(t, g, word[i]))
            continue;
        g->slot[WORDS_AT + 2 * g->slot[0]] = at + 8 * i;
        g->slot[WORDS_AT + 2 * g->slot[0] + 1] = word[i];
        if (++g->slot[0] == RECORD_stack_words)
            put_gathered(t, g);
    }
}

bool has_room_for_stack(const struct thread *t)
{
    return buffer_room(t) >= STACK_RECORDS * (RECORD_SLOTS_AT + 8 * RECORD_stack_slots);
}

/* Where return addresses may lead. */
static void find_code(const struct control *c, struct gathering *g)
{
    u64 end = 0;
    for (u32 i = 0; i < MIN(c->n_code, (u32)CODE_RANGES); i++) {
        g->code = MIN(g->code, c->code[i].start);
        end = MAX(end, c->code[i].end);
    }
    if (c->n_code > CODE_RANGES) { /* it is not known where all code is */
        g->code = 1ull << 16;
        end = 1ull << 47;
    }
    g->code_size = end - MIN(g->code, end);
}

/* As much as there is room for before the gate. */
void put_stack(struct thread *t)
{
    enum { STEP = 512 };
    struct gathering g = {.slot = {0, t->pc, t->regs[RBP]}, .stack = t->regs[RSP], .code = ~0ull};
    u64 word[STEP / 8];
    g.is_careful = !may_fault(t);
    find_code(control(t), &g);
    for (u64 at = g.stack, n; at - g.stack < STACK_SCAN && has_room(t, &g); at += n) {
        n = STEP - (at & (STEP - 8)); /* pages are there as a whole */
        if (read(t, &g, word, at, n))
            break;
        gather(t, &g, at, word, (u32)n / 8);
    }
    put_gathered(t, &g);
}
