/* SPDX-License-Identifier: MIT */
/* The whole contract across the process wall: shared pages, records, requests.
 *
 * Everything here lies in memory that the traced program can write. The host treats it as input. */
#ifndef WIRE_H
#define WIRE_H

#include "base/base.h"
#include "wire/layout.h"

enum request_kind {
    REQ_none,
#define REQUEST(name, what) REQ_##name,
#include "wire/requests.def"
#undef REQUEST
};

enum record_id {
#define RECORD(name, id, slots, what) RECORD_##name = id,
#include "wire/records.def"
#undef RECORD
    FIRST_EXIT_ID = 16,
    EXIT_ID_LIMIT = 1 << 24,
};

/* Does it state anew what the decoder carries? */
static inline bool record_is_state(u32 id)
{
    return id == RECORD_state || id == RECORD_resumed || id == RECORD_entered;
}

enum {
    RECORD_state_slots = 4,
    RECORD_syscall_slots = 3,
    RECORD_native_slots = 2,
    RECORD_signal_slots = 4,
    RECORD_sigreturn_slots = 2,
    RECORD_stepped_slots = 3,
    RECORD_lost_slots = 2,
    RECORD_resumed_slots = 4,
    RECORD_entered_slots = 4,
    RECORD_paused_slots = 4,
    RECORD_mark_slots = 2,
    RECORD_stack_slots = 64,
    RECORD_stack_words = 30,
    RECORD_ANY_SLOTS = 255,
    PARTIAL_EXTRA_SLOTS = 2, /* of a partial record, beside the unit's own */
};

/* The result of a system call that a signal kept from beginning: it will be made again. */
#define RESULT_RESTARTED ((u64)-512)

/* Why a thread left for native code, in a native record. */
enum native_reason {
    NATIVE_host_gone = 1, /* nobody answers requests any more */
    NATIVE_refused, /* the host could not take the process over; it explains on its own side */
    NATIVE_full,    /* there are more units than can be numbered */
    NATIVE_dying,   /* of a signal, by the kernel's hand */
    NATIVE_told,    /* the host lets the process go */
};

/* Instead of a cache address: nothing more can be translated, go on natively for good. */
#define ANSWER_LEAVE 1ull

/* What the host answers to a fault. */
enum fault_answer {
    FAULT_UNKNOWN, /* not at an instruction of the program */
    FAULT_AT,      /* t->pc and the registers are the program's at the instruction */
    FAULT_CHECK,   /* not the program's yet: its code at t->pc cannot be read */
    FAULT_RETURN, /* not the program's: a return slot that cannot be written; t->pc is where it goes */
};

/* A signal as it arrived. */
struct arrived {
    u32 sig;
    u32 made;             /* by us, as the kernel would: no instruction faults again */
    u64 err, trapno, cr2; /* of the kernel's frame */
    u64 info[16];
};
enum {
    ARRIVED_DEFERRED,                 /* waits for a gate; the kernel blocks all others meanwhile */
    ARRIVED_SENT,                     /* reserved signals that somebody sent, one of each */
    ARRIVED_FAULT = ARRIVED_SENT + 6, /* of the instruction at t->pc */
    ARRIVED_LIMIT,
};

/* The program's signal actions, as it sees them; shared as the kernel shares its own. */
struct action {
    u64 handler, flags, restorer, mask;
};
struct sighand {
    u32 users; /* threads; 0: free */
    u32 lock;
    u32 taken; /* of a process that ran before: the program's handlers have been replaced by ours */
    u32 pad;
    struct action action[64];
};
enum { SIGHANDS = WIRE_THREADS };

/* What a task is to the one that made it. */
enum task_kind {
    TASK_thread, /* a thread of the same process */
    TASK_sharer, /* another process on the same memory: vfork and its like */
    TASK_fork,   /* another process on a copy: it gets shared pages of its own */
};

/* What kind of image a thread is about to become. */
enum exec_kind {
    EXEC_plain,
    EXEC_privileged, /* its file gives privileges that a traced task would not get */
};

enum request_state { REQ_IDLE, REQ_POSTED, REQ_ANSWERED };

/* All signals are blocked while a task is made, and when a thread comes to us; those that came meanwhile arrive when they are let go. */
enum held {
    HELD_no,
    HELD_back,
    HELD_let_go,
};

/* One thread's block. Offsets are fixed by layout.h; the tail is only used from C. */
struct thread {
    u64 limit;
    u64 app_r11;
    u64 r10;
    u64 target;
    u64 spill[2];
    u64 ptr;
    u64 app_gs;
    u64 reason;
    u64 resume;
    u64 self;
    u64 pc;
    u64 flags;
    u64 result;
    u64 cloning;
    u64 jump_mask;
    u64 regs[16];
    u64 more_spill[2];
    u32 in_use;  /* claimed by whoever makes the thread, cleared by the thread itself */
    u32 made;    /* enum task_kind */
    u64 inside;  /* guest writes, host reads */
    u32 pending; /* bit i: arrived[i] is to be delivered at the next gate */
    u32 looking; /* it reads the index to fill the jump tables; guest writes, host reads */
    u64 known;   /* the epoch that `resume` is of; the guest's own */
    u64 lent;
    u32 quiet, armed;
    u64 entered;
    u64 deadline; /* of the budget, by the time stamp counter; NO_DEADLINE while the clock stands */
    u32 resting;  /* enum resting; guest and host agree on it */
    u8 traps;     /* for the kernel: system calls of the program's own code come to us as a signal */
    u8 dispatches; /* the kernel was told to look at that */
    u16 stays;    /* it came back so soon, or for a system call, that it had better stay for a while, */
    u32 credit;   /* and so often that it may have some code translated for that */
    u32 linger;   /* how many familiar units are recorded yet */
    u64 rest_began;
    u64 called;  /* when its last system call was over, */
    u64 between; /* and how long it is from one to the next, on average */
    u64 since, used; /* when the clock was started; what had been used by then, in this period */
    u64 request_ticks; /* how long a translation takes, at worst */
    u64 step_began, step_from; /* when and from where on records are measured */
    u32 period, is_spent;
    u32 was_open; /* the window, when the thread last looked */
    u64 told;     /* pc of what the thread has told, and comes to once more in the other version; else 0 */

    u32 req_state; /* futex; guest posts, host answers */
    u32 req_kind;
    u64 req_arg, req_end;
    u64 answer;
    u64 answer_epoch; /* the epoch that the answer is of */

    u32 buffer;   /* index of the buffer in use, or NO_BUFFER */
    u32 block;    /* which of the blocks this is */
    u32 number;   /* of the thread, from 0; blocks are used again, numbers are not. NO_NUMBER once
                      whoever is entitled to has begun to give the block back */
    u32 tid, pid; /* as the task sees itself */
    u32 held;     /* enum held; task_mask is the program's mask then */
    u32 execing;  /* the host was told of the execve */
    u32 made_by;  /* pid of the task that made this one */
    u32 made_number; /* number of the last task that this one made */
    u64 made_flags; /* ... and the flags of its clone, which the program may since have overwritten */
    u64 task_mask;

    /* Signals; see guest/signal.c. */
    u32 sighand;   /* index of the actions */
    u32 stepping;  /* one instruction runs natively, then we are back */
    u32 traced;    /* the program has set its trap flag: it runs by steps */
    u32 shares;    /* the task being made shares our actions, and is to run natively */
    u32 left;      /* for native code, for good */
    u32 calling;   /* a system call of the program's is being made */
    u32 no_clock;  /* the program has made rdtsc a fault */
    u32 strict;    /* strict seccomp: see guest/seccomp.c */
    u64 blocked;   /* reserved signals the program blocks */
    u64 mask;      /* the program's mask while one signal is deferred */
    u64 base_mask; /* the mask in force when it arrived: another one in sigsuspend and its kin */
    u64 call_mask; /* the mask that the system call being made sets for its time */
    u32 has_call_mask;
    u32 swapped; /* register + 1 whose argument was replaced for the system call being made */
    u64 swapped_value;
    u64 old_blocked;
    u64 call_began; /* by the time stamp counter; of a process that was attached to */
    u32 parked; /* futex: told to leave, it waits to be put into the program's code by the host; the mask there is task_mask, the stack for signals is set */
    u32 interrupted; /* attached: the system call at t->pc was interrupted with this errno of the kernel's, and begins again; 0: none */
    u64 room;   /* a mapping of ours for the time of the call, 0 if none */
    u64 arg[4]; /* what replaced arguments point to */
    struct {
        u64 sp;
        u32 flags, pad;
        u64 size;
    } stack;            /* the program's alternate stack */
    u64 xfeatures;      /* which vector state the kernel saves in a frame, */
    u32 xsize, xextent; /* its size, and with the word behind it */
    u16 selectors[4];   /* cs, gs, fs, ss as the kernel shows them */
    struct arrived arrived[ARRIVED_LIMIT];
    struct {
        u32 unit;
        u16 insns, refs, slots, pad;
    } partial; /* the host's answer: what the unit that faulted has recorded */
    /* For --stats; summed over all who used the block. */
    u64 n_requests, n_gates, n_indirect_misses, n_return_misses, n_syscalls, n_rests;
};

enum reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* A thread holds at most one buffer, and at most `window` are handed over and not yet given back:
 * so there is always a free one for a thread that may have one. */
#define BUFFER_WINDOW_LIMIT 128
#define BUFFER_COUNT_LIMIT  (WIRE_THREADS + BUFFER_WINDOW_LIMIT)
#define BUFFER_RING         1024
#define CODE_RANGES         128
#define NO_BUFFER           0xffffffffu
#define NO_NUMBER           0xffffffffu

/* The buffers' owner protocol: a set bit in `free` is a zeroed buffer; a guest claims it, fills it,
 * sets its length and pushes its number into the ring; the host drains the ring in order, zeroes,
 * sets the bit again. */
struct control {
    u32 host_life;    /* the word of a lock that the host holds; the kernel marks it when it dies */
    u32 events;       /* enum events_level: what units record */
    u32 spin;         /* how long to spin before sleeping, in pauses */
    u32 bell;         /* futex; counts requests posted */
    u32 host_sleeps;  /* nonzero while the translator sleeps on the bell */
    u32 drain_bell;   /* futex; counts buffers published */
    u32 drain_sleeps; /* drains asleep on their bell */
    u32 drain_wants;  /* how many buffers must be on their way for these to be woken */
    u32 free_bell;    /* futex; rung when waiting threads may go on */
    u32 guest_waits;  /* threads waiting for the window */
    u32 buffer_size;
    u32 drops;     /* nonzero: a thread that would have to wait drops its records instead */
    u32 window;    /* how many buffers may be on their way */
    u32 threads;   /* thread numbers given out */
    u32 blocks;    /* blocks ever used are below this */
    u32 follow;    /* whether processes that the program makes are to be traced */
    u32 untraced;  /* tasks that run natively: no block was free, or processes are not followed */
    u32 tracer;    /* pid that must be allowed to trace (Yama), or 0 */
    u32 exited;    /* 256 + status, once the process has called exit_group */
    u32 leaving;   /* all threads are to go on natively */
    u32 attached;  /* the process ran before it came to us; the host has filled its threads' task_mask */
    u32 selection; /* enum selection */
    u32 open;      /* the window: nothing is recorded while this is 0 */
    u32 by_marks;  /* the program's marks open and close it */
    u32 countdown; /* calls of trigger functions until it opens; 0: they do not */
    u32 policy;    /* enum policy, of the budget */
    u32 shares_budget; /* one budget for all threads */
    u32 period;    /* counts them */
    u32 is_watched; /* the program is traced by its parent */
    u32 rests;     /* threads that only the host can make record may run the program's own code until then */
    u32 is_novel;  /* code is recorded while it is new: a budget is not for its translation */
    u64 budget;    /* ticks in a period; 0: there is no budget */
    u64 tick_rate; /* in a second */
    u64 period_began;
    u32 has_rseq;  /* ... or one that made it did: its library believes in restartable sequences */
    u64 stepped;   /* instructions that ran natively */
    u64 jump;      /* where the jump tables are mapped in the program */
    u64 epoch;     /* raised when units are dropped; odd while all of them are. See epoch.c */
    u64 near;      /* the next library goes below this, where the cache reaches its data; 0: where the kernel puts it */
    u64 brk;       /* the program's break, as of the last call that asked for it */
    u64 published; /* buffers pushed into the ring so far */
    u64 returned;  /* buffers given back so far */
    u64 lost_buffers, lost_bytes; /* dropped */
    u64 n_waits;                  /* how often a thread had to wait for the window */
    u32 n_code;   /* mappings with code; there may be more than there is room for */
    u32 n_told;   /* these and constants behind them: changes of these are told; above the limit, all are */
    u32 n_sealed; /* how often memory was made read-only, and told */
    struct {
        u64 start, end;
    } code[CODE_RANGES];
    struct sighand sighand[SIGHANDS];
    u64 scratch[4]; /* where the kernel puts what the host asks it in the program's name */
    u64 asking[WIRE_THREADS / 64];            /* bitmap of blocks with a request posted */
    u64 free[(BUFFER_COUNT_LIMIT + 63) / 64]; /* bitmap of free buffers */
    u64 ring[BUFFER_RING];                    /* (sequence + 1) << 16 | buffer, release-stored */
    u32 length[BUFFER_COUNT_LIMIT];           /* bytes used, when published */
    struct {
        u32 number; /* thread number + 1 while claimed, 0 when free */
        u32 tid, pid;
    } owner[BUFFER_COUNT_LIMIT];
};
_Static_assert(BUFFER_COUNT_LIMIT <= BUFFER_RING, "all threads may hand over at once");

/* The parts of the shared pages as the program maps them, MAPPED(offset, size, PROT_...); the jump
 * tables, which are elsewhere, not among them. The pages that threads live in come last: a forked
 * child replaces all of them, and these are under its feet. */
#define WIRE_PARTS(MAPPED)                         \
    MAPPED(WIRE_INDEX_OFF, WIRE_INDEX_SIZE, 1)     \
    MAPPED(WIRE_TARGET_OFF, WIRE_TARGET_SIZE, 1)   \
    MAPPED(WIRE_CACHE_OFF, WIRE_CACHE_SIZE, 1 | 4) \
    MAPPED(WIRE_BUF_OFF, WIRE_BUF_AREA, 1 | 2)     \
    MAPPED(WIRE_GUEST_OFF, WIRE_GUEST_SIZE, 1 | 4) \
    MAPPED(WIRE_CTL_OFF, (u64)(WIRE_INDEX_OFF - WIRE_CTL_OFF), 1 | 2)

enum events_level { EVENTS_none, EVENTS_control, EVENTS_memory, EVENTS_values };

/* What decides whether a thread's code is recorded, beside the window being open. */
enum selection {
    SELECT_all,     /* there are no quiet units: all of it is, always */
    SELECT_window, /* nothing else */
    SELECT_places, /* where the code is */
    SELECT_scopes, /* whether a function has been called and has not returned */
};

/* When threads look whether their budget is spent, and whether there is another. */
enum policy {
    POLICY_timer, /* when they have recorded as much as should take half of the time that is left; the host closes the gates when there is */
    POLICY_tv,    /* at every gate */
    POLICY_tvc,   /* at every gate of recording units; the host closes those of quiet ones when there is */
    POLICY_tc,    /* when they are in the guest for another reason */
};
#define NO_DEADLINE (~0ull)

/* Does a thread run the program's own code, until it is called back? See guest/rest.c. */
enum resting {
    REST_none,
    REST_native = REST_NATIVE,
    REST_called, /* the host is about to send it a signal */
    REST_sent,   /* it has done so */
};
/* The signal is SIGTRAP with this code, and the thread's block as its value. */
#define CALL_BACK_CODE (-0x6761)

/* Units have two versions: one records, the quiet one does not. Where a pc stands for one of them, this bit says which. */
#define PC_QUIET (1ull << 63)

/* The index: open addressing by app pc and version, written by the host, read by the guest on a jump-table
 * miss. Offsets are relative to the start of the cache; an entry is live once pc is set (stored
 * last). */
struct index_entry {
    u64 pc;
    u32 entry;   /* unit entry */
    u32 door;    /* entry for indirect jumps and calls, which verifies rcx == pc; 0 if none yet */
    u32 landing; /* the same for returns */
    u32 pad;
};

/* A mark of the program: nop dword [rax + rax + MARK_MAGIC + its number], and these are special. See gait_mark.h. */
#define MARK_MAGIC 0x47410000u
enum { MARK_start = 0xfffe, MARK_stop = 0xffff };
#define MARK_BYTES 0x00841f0fu
static inline bool mark_is(u64 bytes)
{
    return (u32)bytes == MARK_BYTES && (u32)(bytes >> 32) >> 16 == MARK_MAGIC >> 16;
}

/* Behind the stub of a gate: which unit it is. */
struct gate {
    u64 pc;
    s32 entry; /* the unit's entry, relative to this */
    s32 inner; /* the same behind the gate; the entry where everybody must pass that */
};

/* What is near in the program is near in the index: else each unit of a short command would touch a page of its own. */
static inline u32 index_hash(u64 pc)
{
    enum { BLOCK_LOG2 = 10, ENTRY_LOG2 = 4, WITHIN_LOG2 = BLOCK_LOG2 - ENTRY_LOG2 };
    u64 block = ((pc >> BLOCK_LOG2) * 0x9e3779b97f4a7c15ull) >> (64 - WIRE_INDEX_LOG2 + WITHIN_LOG2);
    return (u32)(block << WITHIN_LOG2 | (pc >> ENTRY_LOG2 & ((1u << WITHIN_LOG2) - 1)));
}

_Static_assert(sizeof(struct index_entry) << WIRE_INDEX_LOG2 == WIRE_INDEX_SIZE, "layout");

/* The jump tables are indexed by the low bits of the target. */
#define JUMP_MASK ((1ul << WIRE_JUMP_LOG2) - 1)

_Static_assert(offsetof(struct thread, app_r11) == T_APP_R11, "layout");
_Static_assert(offsetof(struct thread, r10) == T_R10, "layout");
_Static_assert(offsetof(struct thread, target) == T_TARGET, "layout");
_Static_assert(offsetof(struct thread, spill) == T_SPILL0, "layout");
_Static_assert(offsetof(struct thread, ptr) == T_PTR, "layout");
_Static_assert(offsetof(struct thread, app_gs) == T_APP_GS, "layout");
_Static_assert(offsetof(struct thread, reason) == T_REASON, "layout");
_Static_assert(offsetof(struct thread, resume) == T_RESUME, "layout");
_Static_assert(offsetof(struct thread, self) == T_SELF, "layout");
_Static_assert(offsetof(struct thread, pc) == T_PC, "layout");
_Static_assert(offsetof(struct thread, flags) == T_FLAGS, "layout");
_Static_assert(offsetof(struct thread, result) == T_RESULT, "layout");
_Static_assert(offsetof(struct thread, cloning) == T_CLONING, "layout");
_Static_assert(offsetof(struct thread, jump_mask) == T_JUMP_MASK, "layout");
_Static_assert(offsetof(struct thread, regs) == T_REGS, "layout");
_Static_assert(offsetof(struct thread, more_spill) == T_SPILL2, "layout");
_Static_assert(offsetof(struct thread, in_use) == T_IN_USE, "layout");
_Static_assert(offsetof(struct thread, pending) == T_PENDING, "layout");
_Static_assert(offsetof(struct thread, lent) == T_LENT, "layout");
_Static_assert(offsetof(struct thread, quiet) == T_QUIET, "layout");
_Static_assert(offsetof(struct thread, armed) == T_ARMED, "layout");
_Static_assert(offsetof(struct thread, entered) == T_ENTERED, "layout");
_Static_assert(offsetof(struct thread, deadline) == T_DEADLINE, "layout");
_Static_assert(offsetof(struct thread, resting) == T_RESTING, "layout");
_Static_assert(offsetof(struct thread, linger) == T_LINGER, "layout");
_Static_assert(sizeof(struct thread) <= T_CALLS - 256, "layout");
_Static_assert(WIRE_THREAD_OFF % WIRE_THREAD_SIZE == 0, "layout");
_Static_assert(offsetof(struct thread, inside) == T_INSIDE, "layout");
_Static_assert(sizeof(struct control) <= WIRE_CTL_SIZE, "layout");
_Static_assert(WIRE_NOVEL_OFF < WIRE_INDEX_OFF, "layout");

#endif
