/* SPDX-License-Identifier: MIT */
/* One run and the processes in it, as the host's files share them. Private to this room.
 *
 * Threads of gait, and what each may touch:
 *   main      starts, enters, follows and ends processes; the only one that uses ptrace or waits for
 *             children; holds the life locks of all shared pages
 *   serve     one for each process: its translator, code pages, maps
 *   drains    one or more for each process: its buffers, and what becomes of them; under the writer's lock, the
 *             trace file */
#ifndef PROCESS_H
#define PROCESS_H

#include "decode/decode.h"
#include "decode/digest.h"
#include "host/host.h"
#include "translate/translate.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/user.h>
#include <time.h>

struct user_regs_struct;

/* Seconds of a clock that nobody sets. */
static inline double monotonic(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Rare paths made common, from GAIT_STRESS: a comma list of the names in stress.def. */
struct stress {
#define STRESS(name, what) bool name;
#include "host/stress.def"
#undef STRESS
};

/* A window on the program's code, by page. */
struct code_page {
    u64 page; /* page number + 1, 0 if empty */
    u32 size;
    u32 serial; /* of the translation that read it */
    enum code_kind kind;
    u8 bytes[4096];
};
enum { CODE_PAGES = 256 };

/* What one process after another is served with: making it anew, and the kernel's clearing of its pages, would be a good part of what a short one costs. */
struct spare {
    struct translator *translator; /* NULL, and without heat: there was none yet */
    struct heat *heat;
    struct code_page *pages;
};

/* One mapping of the program. */
struct map {
    u64 start, end, offset;
    char perms[5];
    char path[256];
};

/* -- The run ----------------------------------------------------------------------------------- */

struct process;

/* A request that only the main thread can answer. */
struct posted {
    struct process *process;
    u32 block;
};

/* A task on its way through execve. */
struct execing {
    struct process *process; /* whose shared pages it leaves */
    u32 block, number; /* its thread's; the block may be another's when the call has succeeded */
    pid_t tid;
    u32 from;       /* the process of the trace that it is */
    u32 untraced;   /* why its new image will not be traced; 0 if we trace the task for it */
    bool shares;    /* others may go on using the pages when it leaves them */
    bool detaching; /* the call has failed: the task is to be let go, and waits for our answer */
};

/* A thread that wants to call execve while another one of its process does. */
struct waiting {
    struct posted request;
    u32 from; /* the process of the trace that it is */
};

/* When what is selected is recorded. */
enum window { WINDOW_before, WINDOW_open, WINDOW_over };

/* A thread that was stopped in a system call with a time limit. */
struct wait {
    pid_t tid;
    u64 nr, pc, sp;
    double until;
    u64 sleeps, ran; /* how often it had gone to sleep, and how long run, when it was let go; 0: it is in our hands */
};

/* Limits that gait takes off itself. */
static const int lifted_limits[] = {RLIMIT_NOFILE, RLIMIT_AS, RLIMIT_DATA};

struct run {
    const struct run_options *options;
    struct run_result *result;
    struct stress stress;
    double began; /* this run, */
    u64 began_tsc; /* the same by the time stamp counter */

    u64 refs;  /* recorded so far, where they are limited; atomic */

    /* The main thread's: */
    enum window window;
    double opened; /* when the window was */
    VEC(struct process *) processes;
    VEC(struct spare) spares;
    VEC(struct execing) execing;
    VEC(struct waiting) waiting; /* to be begun when another thread's execve has failed */
    pid_t root;                  /* the command's process: our child */
    bool root_ended;
    bool detached; /* from all processes, since we were told to leave */
    bool attached_ended; /* the process that we attached to has ended, and it is known how */
    u32 attached_as;     /* its number in the trace, of this window */
    int attached_fd;     /* its pidfd; 0: none */
    VEC(struct wait) waits;
    int epoll, signals, bell; /* what it waits for: processes, children, posted requests */
    struct {
        u64 rate, began, length; /* ticks: in a second; when the present period began; how long it is */
        u32 number;
    } period; /* of the budget */
    sigset_t old_mask;        /* as gait was started, for the command */
    struct sigaction old_child;
    struct rlimit old_limits[ARRAY_LEN(lifted_limits)];

    pthread_mutex_t lock; /* guards what follows, and the result's refused and why */
    VEC(struct posted) posted;

    pthread_mutex_t writer_lock; /* guards what follows, and each process's tracks */
    struct trace_writer writer;
    bool writer_open, write_failed;
    struct err write_error;
    u32 n_processes, n_threads; /* numbers given out */
};

/* -- One process: shared pages and what serves them -------------------------------------------- */

/* What the trace calls a thread of these pages. */
struct track {
    bool known;
    u32 thread, process;
    struct digest digest; /* of its events, under stress */
};

struct bundle;

/* A process of the trace that runs on another's pages: made by vfork or its like. */
struct sharer {
    pid_t pid; /* as it sees itself */
    u32 number;
};

struct process {
    struct run *run;
    u32 number; /* in the trace */
    pid_t pid;
    pid_t seen;         /* pid as the process itself sees it: in its own namespace */
    int pid_fd, mem_fd; /* /proc/PID/mem, opened while we might */
    u8 *wire;           /* our mapping of the shared pages */
    struct control *control;
    u32 buffer_size, n_buffers; /* as we set them; the program could change its copy */
    u64 base, jump;             /* where the program maps them */
    u64 near;                   /* below this, libraries are in reach of the cache */
    double lingers_until;       /* the process has ended, but a child of it may come yet; 0: no */
    struct guest_points guest;
    u64 call_returned; /* where in the guest a thread is that waits in a system call */
    u64 remote;        /* where in it system calls can be made in a thread's name */

    struct translator *translator; /* the serve thread's */
    struct heat *heat;             /* NULL if hot paths are not looked for */
    struct spare spare;
    u32 serial; /* counts translations */
    u32 requests;
    double settles_at; /* when familiar code is looked for again */
    u64 epoch; /* as we set it; see epoch.c */
    bool thread_is_lost;
    pthread_t serve_thread;
    u32 stopping;
    struct stretches selected; /* ascending; the serve thread's */
    struct map *maps; /* as of the last change of code; the serve thread's */
    size_t n_maps;
    struct stretches constants; /* what was made read-only; the serve thread's */
    pthread_mutex_t modules_lock; /* guards modules */
    VEC(struct trace_module) modules;
    size_t modules_written; /* under the writer's lock */
    struct trace_mapped mapped; /* for the analyst */
    VEC(struct track) tracks;
    VEC(struct sharer) sharers;

    /* The drains': */
    struct drain {
        struct process *process;
        pthread_t thread;
        struct decoder decoder;
        struct batch *batch;
        struct trace_counts counts;
        bool undecodable; /* so nothing is decoded any more */
        struct err decode_error;
        struct pack *spare; /* to be used again */
        struct trace_press press;
    } * drains;
    u32 n_drains;
    struct {
        pthread_mutex_t taking;      /* whoever takes buffers for a file has this one, so that they come in order; before any other */
        pthread_mutex_t lock;        /* guards what follows */
        pthread_cond_t changed;      /* one is written */
        VEC(struct bundle *) all;    /* in the order in which they were begun */
        u32 open;                    /* that have not ended */
        u32 unpackable;              /* nothing is packed any more; atomic */
    } bundles;
    u64 taken;        /* buffers taken from the ring; atomic */
    void *analysed;   /* by the analyst; NULL: not */
    u64 record_bytes; /* atomic */
    u64 watching; /* watching.c's: for which mappings; the serve thread's */
    struct boost *boost; /* attach.c's, while threads are to stop; NULL: none */
};

static inline struct thread *process_thread(const struct process *p, u32 i)
{
    return (struct thread *)(p->wire + WIRE_THREAD_OFF + i * WIRE_THREAD_SIZE);
}

/* process.c: make the object, and unmake it. */
struct process *process_new(struct run *r, pid_t pid);
void process_free(struct process *p);
/* Nothing is known of the program's code any more: it may have changed. */
void process_forget_code(struct process *p);
/* The pages are there: make the translator, look at the maps, begin to live. */
void process_begin(struct process *p);
/* Begin to serve and drain; the process is among the run's from here on. */
void process_serve(struct process *p);
/* Drain what is left, count, and free it. */
void process_end(struct process *p);
/* Answer a thread's request. */
void process_answer(struct thread *t, u64 answer);

/* start.c: fork and stop the program right after its execve, before its first instruction. */
int start_program(struct process *p, struct err *e);
/* Let a task at its exec event go on to the end of that call: only then do register changes hold. */
int start_finish_exec(pid_t pid, struct err *e);
/* Why the image of a stopped process cannot be traced, or TRACE_UNTRACED_no. */
enum trace_untraced start_image_fault(pid_t pid);

/* remote.c: system calls in the name of a stopped thread, between a begin and an end. */
struct remote {
    pid_t pid;  /* the thread, */
    int mem_fd; /* and its memory */
    u64 at;     /* where there is a system call and a trap; 0: put one where the thread is */
    struct user_regs_struct regs;
    u64 mask;
    bool patched;
    u8 saved[32];
};
enum { REMOTE_NAME_AT = 8 /* behind rip: a name for a memfd */ };
int remote_begin(struct remote *m, struct err *e);
int remote_end(struct remote *m, struct err *e);
/* What the kernel returned: a value, or -errno. */
s64 remote_call(struct remote *m, u64 nr, const u64 a[6]);
#define REMOTE(m, nr, ...) remote_call(m, nr, (const u64[6]){__VA_ARGS__})

/* inject.c: put the guest and the shared pages into the stopped program. */
int inject(struct process *p, struct err *e);
/* Fill a thread's block with its registers; let it run, from the guest, and be its tracer no more. */
void inject_thread(struct process *p, u32 block, u32 tid, const struct user_regs_struct *r);
int inject_enter(struct process *p, u32 block, pid_t tid, struct user_regs_struct r);
/* Both, for the first thread of a new image. */
int inject_release(struct process *p, struct err *e);
/* Make pages for a forked child, in a memfd that it has opened; the block is its thread's. It maps
 * them itself. */
int inject_adopt(struct process *p, const struct process *parent, u32 block, int fd, struct err *e);

/* attach.c: take over the process that the options name; let one go, so that nothing of ours remains: false if it has ended, or something
 * does remain. */
int attach_begin(struct run *r, struct err *e);
bool attach_end(struct process *p);

/* waits.c: a thread is stopped in a system call that says EINTR and has a time limit, with its registers before that call. Note until when
 * it waits, unless that is known already. */
void waits_note(struct process *p, pid_t tid, const struct user_regs_struct *r, double began);
/* Forget the waits of threads that are in our hands, or of all others; of one thread. */
void waits_forget(struct run *r, bool ours);
void waits_forget_one(struct run *r, pid_t tid);
/* Let it go, to wait for the rest of its time. */
void waits_let_go(struct process *p, pid_t tid, struct user_regs_struct *r);

/* serve.c: make the translator, when the shared pages are there. */
void serve_begin(struct process *p);
/* Answer the guest's requests until told to stop. */
void *serve_main(void *process);
/* Answer a thread that asks about a fault, though all others wait. */
void serve_fault(struct process *p, u32 block);

/* select.c: which code is recorded; a module was mapped; what is at a pc, enum spot. */
enum selection select_kind(const struct run_options *o);
/* May threads run the program's own code until the window opens, or a period begins? */
bool select_rests(const struct run *r);
void select_module(struct process *p, const struct trace_module *m);
u32 select_spot(void *process, u64 pc);
/* And when; look whether the window is to open or to close, now and then; is there a need to? */
void window_begin(struct run *r);
void window_look(struct run *r);
bool window_moves(const struct run_options *o);

/* budget.c: the periods of a budget. Tell a new process of them; begin the next one when it is time. */
void budget_begin(struct run *r);
void budget_tell(const struct run *r, struct control *c);
void budget_look(struct run *r);
/* How long until the next look, in nanoseconds; 0: none is needed. */
u64 budget_wait(const struct run *r);
/* By a thread of ours: to be out of the program's way. */
void budget_yield(const struct process *p, bool is_waited_for);

/* epoch.c: what the translator must know of the program's threads. */
void epoch_begin(struct process *p);
void epoch_dropped(void *process);
void epoch_settle(void *process);
bool epoch_stop(void *process);
void epoch_go(void *process);

/* follow.c: the main thread's loop, until nothing that is traced is left. -1 if it could not be attached to once more. */
int follow_begin(struct run *r, struct err *e);
/* Before the command begins. */
void follow_restore_limits(const struct run *r);
int follow_run(struct run *r, struct err *e);
void follow_end(struct run *r);
/* Answer what only the main thread can, and see to tasks that we trace on their way through execve; while it is busy otherwise. */
void follow_look(struct run *r);
/* Watch for the end of a process. */
void follow_watch(struct process *p);
/* By a serve thread: have the main thread answer this block's request. */
void follow_post(struct process *p, u32 block);

/* tracks.c: who is who in the trace. Each process and thread gets its number here. */
u32 tracks_process(struct run *r, struct trace_process *x);
/* The same, with pid, image and arguments as the kernel tells them of our task `pid`. */
u32 tracks_image(struct run *r, struct trace_process *x, pid_t pid);
void tracks_end(struct run *r, u32 number, u32 ending, u32 status);
/* The process of the trace that a task with this pid is, on these pages. */
u32 tracks_sharer(struct process *p, pid_t pid);
/* The thread of these pages that has this number, known to the trace from here on; with the writer's lock held. NULL with
 * the writer's error. */
struct track *tracks_thread(struct process *p, u32 local, u32 tid, u32 pid);

/* pids.c: what the kernel tells of a task under this name; false if it tells nothing. */
bool pids_status(pid_t pid, const char *name, char *value, size_t room);
/* What a task calls itself. */
pid_t pids_seen(pid_t pid);
struct pids {
    pid_t *v;
    size_t n, cap;
};
/* Which tasks may be meant by what calls itself `seen`, in the process with this pid or made by it. The
 * first is the task that we call so. */
void pids_find(pid_t pid, pid_t seen, struct pids *found);
/* A thread of this process, as we know it. */
pid_t pids_of_thread(const struct process *p, const struct thread *t);

/* gates.c: let all threads come by. */
void gates_close(struct process *p);
/* Those that could rest, and do not. */
void gates_remind(const struct run *r);

/* drain.c: start the threads that empty published buffers; stop them when the program has ended,
 * and empty what is left. */
void drain_begin(struct process *p);
void drain_end(struct process *p);

/* boost.c: get ready to lend threads a priority; do it; take it back, for good. Of NULL there is nothing to lend. */
enum { PRIORITY_THEIRS = 1, PRIORITY_OURS };
struct boost *boost_begin(const struct pids *threads);
void boost_lend(struct boost *b);
void boost_end(struct boost **b);

/* heat.c: find hot paths in a drained buffer, now and then; by the drains. Hand one of them to the translator, by the serve
 * thread; false if there is none. */
struct heat *heat_new(void);
/* As new; no unit from this number on was ever looked at. */
void heat_renew(struct heat *h, size_t units);
void heat_free(struct heat *h);
void heat_look(struct process *p, const u8 *data, u32 size);
bool heat_translate(struct process *p);

/* What bundle.c needs of it: a buffer; to give it back, zeroed, when so many bytes of it were used. */
u8 *drain_buffer(struct process *p, u32 i);
void drain_give_back(struct process *p, u32 i, u32 used);

/* bundle.c: what goes to the file. Of all buffers that wait, or of one bundle, have some packed or a chunk written; false if there is nothing to do. */
void bundles_init(struct process *p);
bool bundles_work(struct drain *d);
/* By the drain that takes buffers: a thread's next one, which is given back when it is packed; no more comes to those that are old, or to all. */
void bundles_add(struct process *p, u32 thread, u64 turn, u32 buffer, u32 used);
void bundles_end(struct process *p, bool all);
/* When all drains have ended: do what is left, with as many threads. */
void bundles_finish(struct process *p);

/* maps.c: what is mapped in the program now. */
size_t maps_read(pid_t pid, struct map **out);
/* What kind of code the page at this address holds, by the mappings noted last. */
enum code_kind maps_code_kind(const struct process *p, u64 address);
/* The mapping at this address as noted last, or NULL. */
const struct map *maps_find(const struct process *p, u64 address);
/* The word at an address, if it is in memory that was made read-only, whose changes the guest tells. */
bool maps_constant(const struct process *p, u64 address, u64 *value);
/* Note the executable mappings that are new, and constants in start .. end - 1, which has changed; by whichever thread sees the program change
 * them. */
void modules_note(struct process *p, u64 start, u64 end);
/* watching.c: watch the functions in them, if that was asked for. */
void watching_note(struct process *p);
/* Write those noted since the last call; with the writer's lock held. */
int modules_write(struct process *p, struct err *e);
/* The same for whoever else wants them. */
const struct trace_mapped *modules_mapped(struct process *p);
void modules_fini(struct process *p);

#endif
