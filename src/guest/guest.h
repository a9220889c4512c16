/* SPDX-License-Identifier: MIT */
/* What the guest's files share. See docs/guest.md. */
#ifndef GUEST_H
#define GUEST_H

#include "wire/wire.h"

#include <asm/unistd.h>
#include <linux/futex.h>

/* -- The kernel -------------------------------------------------------------------------------- */

static inline s64 kernel6(u64 nr, u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)
{
    s64 r;
    register u64 r10 __asm__("r10") = d;
    register u64 r8 __asm__("r8") = e;
    register u64 r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
}

static inline s64 kernel(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
    return kernel6(nr, a, b, c, d, 0, 0);
}

struct seconds {
    s64 sec, nsec;
};

#define LONGEST_WAIT 50000000 /* ns: look around 20 times a second, the host may be gone */
static inline void futex_wait_for(u32 *word, u32 seen, s64 ns)
{
    struct seconds limit = {0, ns};
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAIT, seen, (u64)(uintptr_t)&limit);
}

static inline void futex_wait(u32 *word, u32 seen)
{
    futex_wait_for(word, seen, LONGEST_WAIT);
}

static inline void futex_wake(u32 *word)
{
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAKE, 1, 0);
}

/* 0 where the program has forbidden the instruction. */
static inline u64 time_stamp(const struct thread *t)
{
    u32 lo, hi;
    if (t->no_clock)
        return 0;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (u64)hi << 32 | lo;
}

static inline bool is_canonical(u64 address)
{
    return (u64)((s64)(address << 16) >> 16) == address;
}

static inline void pause(void)
{
    __asm__ volatile("pause");
}

/* -- Shared pages ------------------------------------------------------------------------------ */

static inline u8 *wire(const struct thread *t)
{
    return (u8 *)(uintptr_t)(t->self - WIRE_THREAD_OFF - (u64)t->block * WIRE_THREAD_SIZE);
}

static inline struct control *control(const struct thread *t)
{
    return (struct control *)(wire(t) + WIRE_CTL_OFF);
}

static inline bool host_is_gone(const struct thread *t)
{
    return load_relaxed(&control(t)->host_life) & FUTEX_OWNER_DIED;
}

/* Are there records at all, and so a record pointer? */
static inline bool records(const struct thread *t)
{
    return control(t)->events != EVENTS_none;
}

/* Is what this thread does now to be recorded? */
static inline bool tells(const struct thread *t)
{
    return records(t) && !t->quiet;
}

static inline bool failed(const struct thread *t)
{
    return t->result > (u64)-4096;
}

/* -- buffer.c: records and the buffers they go into -------------------------------------------- */

/* Gates leave room for a unit and a few of these, so no check is needed. */
void put_record(struct thread *t, u32 id, u32 n, const u64 *slot);
void put_state(struct thread *t);
/* The same for a thread that was quiet. */
void put_resumed(struct thread *t);
/* One instruction ran natively; a state record must follow. */
void put_stepped(struct thread *t, u64 pc, u64 next);
void put_syscall(struct thread *t, u64 nr);
/* Hand the buffer over to the host: before another one; after the last record; for a thread that is no more. */
void publish_buffer(struct thread *t);
void hand_over_buffer(struct thread *t);
void publish_left_buffer(struct thread *t);
/* Get an empty buffer and begin it with a state record; false if there is no host any more. */
bool new_buffer(struct thread *t);
bool swap_buffer(struct thread *t);
bool buffer_is_full(const struct thread *t);
/* How much fits before the gate. */
u64 buffer_room(const struct thread *t);
/* Would the thread have to wait for an empty one? */
bool buffer_would_wait(const struct thread *t);
/* Open the gates up to the end of the buffer, unless a signal waits at them. */
void set_limit(struct thread *t);

/* -- stack.c: behind a resumed record, its stack, for which there should be room before ----------- */

bool has_room_for_stack(const struct thread *t);
void put_stack(struct thread *t);

/* -- budget.c: how long a thread may record ----------------------------------------------------- */

/* Is it over for this period? Looks at the clock. */
bool budget_is_spent(struct thread *t);
/* Let it be over: somebody else is too slow. */
void budget_give_up(struct thread *t);
/* Start the clock of a thread that records, and stop it. */
void budget_begin(struct thread *t);
void budget_stop(struct thread *t);
/* Is there time for asking for a translation? And how long it took. */
bool budget_affords_request(struct thread *t);
void budget_note_request(struct thread *t, u64 began);
/* The host is asked: stop the clock if that is not to count; was it? */
bool budget_waits(struct thread *t);
/* After how many bytes of records to look again; NO_STEP: never. Has a period begun meanwhile? */
#define NO_STEP (~0ull)
u64 budget_step(struct thread *t);
bool budget_has_changed(const struct thread *t);

/* -- rest.c: in the program's own code until the host calls ----------------------------------- */

/* A thread that was back too soon may do so again after a while. */
void rest_look(struct thread *t);
/* A system call is over. */
void rest_note_call(struct thread *t);
/* Is there nothing to look for in its code before that? */
bool rest_is_due(const struct thread *t);
/* Returns if it cannot be. */
void rest_begin(struct thread *t);
/* The same before code is translated that it would run quietly; returns if that pays. */
void rest_unless_worth(struct thread *t);
/* The thread is back in the guest, if it was away. */
void rest_end(struct thread *t);
/* It leaves for good. */
void rest_forget(struct thread *t);
bool rest_is_called(const struct thread *t, u32 sig, const u64 *info);
/* Is a thread that is interrupted at pc on its way to native code? */
bool rest_is_beginning(const struct thread *t, u64 pc);

/* -- guest.c: requests and ways on ----------------------------------------------------------- */

/* Ask the host; 0 if it refuses or is gone. */
u64 ask_range(struct thread *t, enum request_kind kind, u64 arg, u64 end);
u64 ask(struct thread *t, enum request_kind kind, u64 arg);
/* The host has opened or closed the window, or the budget is spent, or there is another. True if the thread changed its version:
 * t->resume is of the other one. */
bool follow_window(struct thread *t);
/* Nobody waits for the answer to a request any more, but it comes: let it be over. */
void finish_request(struct thread *t);
/* Go on at t->pc: t->resume is set, or the instruction there runs natively. */
void go_on(struct thread *t);
/* Is it about to go on with a system call that it was stopped in? Our way out makes the kernel forget that call. */
bool goes_on_with_call(const struct thread *t);
/* Go on in the program's own code at t->pc; nothing of us is needed after this. */
_Noreturn void leave_for_native(struct thread *t, enum native_reason why);

/* -- call.c: system calls -------------------------------------------------------------------- */

/* A call that was prepared does not begin after all. */
void call_undo(struct thread *t);
/* Replace one for the time of the call. */
void call_swap_argument(struct thread *t, enum reg reg, u64 value);

/* -- seccomp.c ------------------------------------------------------------------------------- */

/* Before prctl(PR_SET_SECCOMP) or seccomp; true if the call is done. And after it. */
bool seccomp_before(struct thread *t);
/* Does strict mode forbid the call? The thread dies of it. */
bool seccomp_forbids(const struct thread *t);
void seccomp_done(struct thread *t);

/* -- signal.c (they arrive), action.c (what is to be done), deliver.c, native.c (steps, leaving) -- */

#define SIG_BIT(sig) (1ull << ((sig)-1))
enum {
    SIGILL_ = 4,
    SIGTRAP_ = 5,
    SIGBUS_ = 7,
    SIGFPE_ = 8,
    SIGKILL_ = 9,
    SIGSEGV_ = 11,
    SIGSTOP_ = 19,
    SIGSYS_ = 31,
};
/* The signals of faults: always ours, never blocked in the kernel. */
#define RESERVED                                                                  \
    (SIG_BIT(SIGILL_) | SIG_BIT(SIGTRAP_) | SIG_BIT(SIGBUS_) | SIG_BIT(SIGFPE_) | \
     SIG_BIT(SIGSEGV_) | SIG_BIT(SIGSYS_))

#define SA_NOCLDSTOP_ 0x1ul
#define SA_NOCLDWAIT_ 0x2ul
#define SA_SIGINFO_   0x4ul
#define SA_RESTORER_  0x04000000ul
#define SA_ONSTACK_   0x08000000ul
#define SA_RESTART_   0x10000000ul
#define SA_NODEFER_   0x40000000ul
#define SA_RESETHAND_ 0x80000000ul
#define SA_KNOWN                                                                              \
    (SA_NOCLDSTOP_ | SA_NOCLDWAIT_ | SA_SIGINFO_ | SA_RESTORER_ | SA_ONSTACK_ | SA_RESTART_ | \
     SA_NODEFER_ | SA_RESETHAND_ | 0x800ul)
#define SS_DISABLE_    2u
#define SS_AUTODISARM_ 0x80000000u

enum { CODE64 = 0x33, CODE32 = 0x23 };
enum { STEP_BEGUN = 1, STEP_DONE };

/* Copy between us and the program, whose memory may not be there: nonzero if it is not. */
u32 copy_guarded(void *to, const void *from, u64 n);
static inline u32 copy_in(void *to, u64 from, u64 n)
{
    return copy_guarded(to, (const void *)(uintptr_t)from, n);
}
static inline u32 copy_out(u64 to, const void *from, u64 n)
{
    return copy_guarded((void *)(uintptr_t)to, from, n);
}

/* At the start of a process and of each thread: our handlers, our stack, the mask in t->task_mask. */
void signal_begin_process(struct thread *t);
/* The same of a thread that ran before, and has handlers and a stack of its own. */
void signal_begin_attached(struct thread *t);
void signal_begin_thread(struct thread *t);
/* What a new task takes over from its maker; false if there is no room for actions of its own. */
bool signal_inherit(struct thread *x, const struct thread *t, bool shared);
/* A thread ends. */
void signal_leave(struct thread *t);
/* Before an execve, and after one that failed. */
void signal_before_exec(struct thread *t);
void signal_after_exec(struct thread *t);
/* On in the program's own code at t->pc, for good, with its own stack and mask. */
_Noreturn void signal_go_native(struct thread *t);
/* Set the kernel's mask; what it was. */
u64 signal_mask(u64 mask);
/* Take and set an action as the program sees it; new may be NULL. */
s64 signal_action(struct thread *t, u32 sig, const struct action *new, struct action *old);
/* Will it die of this signal, sent to itself; and the way to do so. */
bool signal_is_death(const struct thread *t, u32 sig);
_Noreturn void signal_die_by_call(struct thread *t, u32 sig);
bool signal_on_stack(const struct thread *t);
/* Deliver one of the pending signals at t->pc; returns if none was to be delivered after all. */
void deliver(struct thread *t);
_Noreturn void signal_return(struct thread *t);
_Noreturn void step_native(struct thread *t);
_Noreturn void leave_native(u64 ignored, u64 more_flags, u64 code_selector);
/* In the cache there is neither the trap flag, nor alignment checking, nor 32-bit code. */
bool runs_by_steps(const struct thread *t);

/* -- task.c: threads and processes the program makes ------------------------------------------- */

bool makes_task(u64 nr);
/* Before such a call, and after it in the parent. */
/* False if a signal comes first. */
bool before_task(struct thread *t);
void finish_task(struct thread *t);
/* Let signals come again that were held back while a task was made. */
void release_signals(struct thread *t);

/* Allow the host to trace us, where it takes more than being the same user. */
void allow_tracer(const struct thread *t);

/* -- exec.c: new images ------------------------------------------------------------------------ */

void before_exec(struct thread *t);
/* It came back; false if there is no host any more. */
bool after_exec(struct thread *t);

#endif
