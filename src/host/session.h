/* SPDX-License-Identifier: MIT */
/* One traced program, as the host's files share it. Private to this room. */
#ifndef SESSION_H
#define SESSION_H

#include "decode/decode.h"
#include "host/host.h"
#include "translate/translate.h"

#include <pthread.h>
#include <sys/types.h>

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

/* One mapping of the program. */
struct map {
    u64 start, end, offset;
    char perms[5];
    char path[256];
};

struct session {
    const struct run_options *options;
    struct run_result *result;
    struct stress stress;
    pid_t pid;
    int mem_fd; /* /proc/PID/mem, opened while we traced it */
    u8 *wire;   /* our mapping of the shared pages */
    struct control *control;
    u32 buffer_size, n_buffers; /* as we set them; the program could change its copy */
    u64 base, jump;             /* where the program maps them */
    struct guest_points guest;

    struct translator *translator; /* the serve thread's */
    struct code_page *pages;
    u32 serial; /* counts translations */
    u32 requests;
    u64 epoch; /* as we set it; see epoch.c */
    bool thread_is_lost;
    pthread_t serve_thread;
    u32 stopping;
    struct map *maps; /* as of the last change of code; the serve thread's */
    size_t n_maps;
    pthread_mutex_t modules_lock; /* guards modules */
    VEC(struct trace_module) modules;
    size_t modules_written; /* the drain's */

    /* The drains': */
    struct drain {
        struct session *session;
        pthread_t thread;
        struct decoder decoder;
        struct batch *batch;
        struct trace_counts counts;
        bool undecodable;
        struct err decode_error;
    } * drains;
    u32 n_drains;
    u64 taken;        /* buffers taken from the ring; atomic */
    u64 record_bytes; /* atomic */

    /* The writer belongs to the only drain there is when a file is written. */
    struct trace_writer writer;
    bool writer_open, write_failed;
    struct err write_error;
};

static inline struct thread *session_thread(const struct session *s, u32 i)
{
    return (struct thread *)(s->wire + WIRE_THREAD_OFF + i * WIRE_THREAD_SIZE);
}

/* start.c: fork and stop the program right after its execve, before its first instruction. */
int start_program(struct session *s, struct err *e);
/* serve.c: make the translator, when the shared pages are there. */
void serve_begin(struct session *s);
/* inject.c: put the guest and the shared pages into the stopped program. */
int inject(struct session *s, struct err *e);
/* Let it run, from the guest. */
int release_program(struct session *s, struct err *e);
/* serve.c: answer the guest's requests until told to stop. */
void *serve_main(void *session);
/* epoch.c: what the translator must know of the program's threads. */
/* serve.c: answer a thread that asks about a fault, though all others wait. */
void serve_fault(struct session *s, struct thread *t);
void epoch_begin(struct session *s);
void epoch_dropped(void *session);
void epoch_settle(void *session);
bool epoch_stop(void *session);
void epoch_go(void *session);
/* drain.c: start the threads that empty published buffers; stop them when the program has ended,
 * and empty what is left. */
void drain_begin(struct session *s);
void drain_end(struct session *s);
/* maps.c: what is mapped in the program now. */
size_t maps_read(pid_t pid, struct map **out);
/* What kind of code the page at this address holds, by the mappings noted last. */
enum code_kind maps_code_kind(const struct session *s, u64 address);
/* The mapping at this address as noted last, or NULL. */
const struct map *maps_find(const struct session *s, u64 address);
/* Note the executable mappings that are new; by whichever thread sees the program change them. */
void modules_note(struct session *s);
/* Write those noted since the last call; by the drain. */
int modules_write(struct session *s, struct err *e);
void modules_fini(struct session *s);

#endif
