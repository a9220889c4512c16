/* SPDX-License-Identifier: MIT */
/* What the guest's files share. See docs/guest.md. */
#ifndef GUEST_H
#define GUEST_H

#include "wire/wire.h"

#include <asm/unistd.h>
#include <linux/futex.h>

/* -- The kernel -------------------------------------------------------------------------------- */

static inline s64 kernel(u64 nr, u64 a, u64 b, u64 c, u64 d)
{
    s64 r;
    register u64 r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return r;
}

struct seconds {
    s64 sec, nsec;
};

static inline void futex_wait(u32 *word, u32 seen)
{
    struct seconds limit = {0, 50000000}; /* look around 20 times a second: the host may be gone */
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAIT, seen, (u64)(uintptr_t)&limit);
}

static inline void futex_wake(u32 *word)
{
    kernel(__NR_futex, (u64)(uintptr_t)word, FUTEX_WAKE, 1, 0);
}

static inline u64 time_stamp(void)
{
    u32 lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (u64)hi << 32 | lo;
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

static inline bool records(const struct thread *t)
{
    return control(t)->events != EVENTS_none;
}

static inline bool failed(const struct thread *t)
{
    return t->result > (u64)-4096;
}

/* -- buffer.c: records and the buffers they go into -------------------------------------------- */

/* Gates leave room for a unit and a few of these, so no check is needed. */
void put_record(struct thread *t, u32 id, u32 n, const u64 *slot);
void put_state(struct thread *t);
void put_syscall(struct thread *t, u64 nr);
/* Hand the buffer over to the host; the same for a thread that is no more. */
void publish_buffer(struct thread *t);
void publish_left_buffer(struct thread *t);
/* Get an empty buffer and begin it with a state record; false if there is no host any more. */
bool new_buffer(struct thread *t);
bool swap_buffer(struct thread *t);

/* -- guest.c: requests and ways on ------------------------------------------------------------- */

/* Ask the host; 0 if it refuses or is gone. */
u64 ask_range(struct thread *t, enum request_kind kind, u64 arg, u64 end);
u64 ask(struct thread *t, enum request_kind kind, u64 arg);
/* Go on in the program's own code at t->pc; nothing of us is needed after this. */
_Noreturn void go_native(struct thread *t, enum native_reason why);

/* -- task.c: threads and processes the program makes ------------------------------------------- */

bool makes_task(u64 nr);
/* Before such a call, and after it in the parent. */
void before_task(struct thread *t);
void finish_task(struct thread *t);
/* Let signals come again that were held back while a task was made. */
void release_signals(struct thread *t);

/* -- exec.c: new images ------------------------------------------------------------------------ */

void before_exec(struct thread *t);
/* It came back; false if there is no host any more. */
bool after_exec(struct thread *t);

#endif
