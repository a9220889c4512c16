/* SPDX-License-Identifier: MIT */
/* What is inside a trace's chunks, for writing and for reading. docs/trace-format.md is normative.
 *
 * Writing, by one thread at a time:
 *
 *     trace_writer_open(&w, path, argc, argv, &e);
 *     trace_write_process(&w, &process, &e);       when it begins; numbers are given in this order
 *     trace_write_thread(&w, &thread, &e);         before its first records; the same
 *     for each stretch of records that was packed (decode/pack.h):
 *         trace_press(pack, &press);                    takes long, needs no writer
 *         trace_write_units(&w, process, &table, &e);   what is new in that process's table
 *         trace_write_records(&w, thread, &press, &e);
 *     trace_write_modules, trace_write_end:        at any time
 *     trace_writer_close(&w, &summary, &e);
 *
 * Units must be written before the records that use them, so call trace_write_units before each
 * trace_write_records; it does nothing when nothing is new. The translator may append to the table
 * meanwhile if its arrays never move and units.n is stored last, with release. After any of these
 * has returned -1 the file is readable up to there, and only the close remains to be called. */
#ifndef TRACE_H
#define TRACE_H

#include "base/base.h"
#include "base/err.h"
#include "base/vec.h"
#include "decode/pack.h"
#include "decode/units.h"
#include "store/store.h"
#include "translate/unit.h"

enum chunk_kind {
#define CHUNK(name, kind, what) CHUNK_##name = kind,
#include "decode/chunks.def"
#undef CHUNK
    CHUNK_KIND_LIMIT,
};

enum { TRACE_NUMBER_LIMIT = 1 << 20 /* numbers of threads and of processes are below this */ };

/* How a process of the trace came to be. A new image in an old process is a new one. */
enum trace_how {
#define HOW(name, what) TRACE_BY_##name,
#include "decode/hows.def"
#undef HOW
    TRACE_HOW_LIMIT,
};

/* Why a process has no records. */
enum trace_untraced {
#define UNTRACED(name, what) TRACE_UNTRACED_##name,
#include "decode/untraced.def"
#undef UNTRACED
    TRACE_UNTRACED_LIMIT,
};

enum trace_ending {
    TRACE_ENDED_unknown,
    TRACE_ENDED_exited,   /* status: the exit status */
    TRACE_ENDED_signal,   /* status: the signal that killed it */
    TRACE_ENDED_detached, /* it went on without us */
    TRACE_ENDED_exec,     /* another image took its place */
    TRACE_ENDING_LIMIT,
};

/* A process; text belongs to whoever made it. */
struct trace_process {
    u32 number;
    u32 pid;      /* the kernel's */
    u32 from;     /* who made it, or whose place it took; its own number if it is the command */
    u32 how;      /* enum trace_how */
    u32 memory;   /* whose memory, and so whose units and modules, it uses; usually its own */
    u32 untraced; /* enum trace_untraced */
    u64 began;    /* time stamp */
    char *path;   /* of its image, "" if not known */
    char **argv;  /* NULL-terminated; NULL if it goes on with what it was given before */
    u32 ending, status;
    u64 ended; /* time stamp */
};

/* A file mapped into a process; text belongs to whoever made it. */
struct trace_module {
    u32 process;
    u64 start, end; /* addresses */
    u64 offset;     /* of start in the file */
    char *build_id; /* hex digits, or "" */
    char *path;
};

/* Modules of a process, of which there may be more the next time: those from number `from` on, at most `room` of them; how many. Their texts stay as long
 * as the process does. */
struct trace_mapped {
    void *ctx;
    size_t (*read)(void *ctx, size_t from, struct trace_module *to, size_t room);
};

struct trace_thread {
    u32 number; /* as in the chunks of its records */
    u32 process;
    u32 tid; /* the kernel's, 0 if not known */
    char *name;
};

struct trace_counts {
    u64 instructions, loads, stores, modifies, records, syscalls;
    u64 bytes; /* of records, before compression */
};

struct trace_summary {
    u32 ending, status;           /* of the command */
    u32 counted;                  /* whether `counts` was filled in while recording */
    u32 untraced;                 /* tasks that ran natively */
    u64 lost_buffers, lost_bytes; /* dropped because nobody drained them in time */
    struct trace_counts counts;
    u64 digest; /* of the events, see decode/digest.h; 0 if none was made */
};

/* -- Writing --------------------------------------------------------------------------------- */

/* A stretch of records, ready to be written. */
struct trace_press {
    struct pack_head head;
    struct store_bytes contents;
    struct store_press press;
};

/* Where a chunk of records stands, and what its head says. */
struct trace_entry {
    u64 offset;
    struct pack_head head;
};

struct trace_writer {
    struct store_writer store;
    VEC(struct units_lengths) written; /* of each process's unit table */
    u32 threads;                       /* how many were written */
    VEC(struct trace_entry) index;
    struct store_bytes buf;
};

int trace_writer_open(struct trace_writer *w, const char *path, int argc, char *const *argv,
                      struct err *e);
/* Give the process the next number and write how it began. */
int trace_write_process(struct trace_writer *w, struct trace_process *p, struct err *e);
/* Write p->ending, p->status and p->ended. */
int trace_write_end(struct trace_writer *w, const struct trace_process *p, struct err *e);
/* Give the thread the next number and write whose it is. */
int trace_write_thread(struct trace_writer *w, struct trace_thread *t, struct err *e);
int trace_write_units(struct trace_writer *w, u32 process, const struct unit_table *t,
                      struct err *e);
/* Make contents of what was packed and press them; the pack remains to be freed. */
void trace_press(struct trace_press *x, struct pack *p);
void trace_press_fini(struct trace_press *x);
int trace_write_records(struct trace_writer *w, u32 thread, struct trace_press *x, struct err *e);
int trace_write_modules(struct trace_writer *w, u32 process, const struct trace_module *m, size_t n,
                        struct err *e);
/* Seal the file. With a NULL summary nothing more is written: readers will say "interrupted". */
int trace_writer_close(struct trace_writer *w, const struct trace_summary *s, struct err *e);

/* -- Reading --------------------------------------------------------------------------------- */

/* One chunk of records, and how many exits its table had when it was written. */
struct trace_piece {
    struct store_chunk chunk;
    u32 process;
    u32 memory; /* the process whose table it decodes with */
    u32 n_exits;
    struct pack_head head; /* from the index; see trace_head */
    bool has_head;
};

/* The units of one process's memory. */
struct trace_units {
    struct unit_table table;
    struct units_lengths committed; /* what of the table arrived whole */
};

/* How much was read of a kind, raw and in the file: the second bounds the first. */
struct trace_volume {
    u64 raw, stored;
};

struct trace {
    struct store_reader store;
    VEC(struct trace_process) processes;
    VEC(struct trace_units) units; /* as many as processes */
    struct trace_volume units_volume, small_volume;
    VEC(struct trace_piece) pieces;
    VEC(struct trace_module) modules;
    VEC(struct trace_thread) threads;
    char **argv; /* of the command; NULL-terminated */
    bool has_index;
    bool has_summary;
    struct trace_summary summary;
    u64 n_chunks; /* sound ones, the end chunk not counted */
    u64 whole_at, whole_chunks; /* where the last of them ends that needs none after it, and how many there are up to it */
    bool complete;
    bool damaged;       /* if not complete: not just interrupted */
    struct err trouble; /* if not complete: the sentence that says what is missing */
};

/* Open a trace and read everything but the records. An interrupted or damaged trace opens, with
 * what stands before the damage; -1 only if nothing can be made of the file. */
int trace_open(struct trace *t, const char *path, struct err *e);
/* Was it recorded with the data that was read and written? */
bool trace_has_values(const struct trace *t);
/* The unit table of a piece. */
const struct unit_table *trace_table(const struct trace *t, size_t piece);
/* Load the packed records of pieces.v[i] into `into`, in any order. */
int trace_load(struct trace *t, size_t i, struct store_bytes *into, struct err *e);
/* What the head of pieces.v[i] says: from the index, or, if the file has none, from the chunk. */
int trace_head(struct trace *t, size_t i, struct pack_head *head, struct err *e);
/* Give an interrupted file the end that it lacks: what is torn is cut off; an index, a summary of which the ending is
 * unknown, and an end chunk are written. Open the trace again to see it. */
int trace_repair(struct trace *t, struct err *e);
/* Say what is wrong with the contents of pieces.v[i]; always returns -1. */
int trace_fault(const struct trace *t, size_t i, const char *fault, struct err *e);
void trace_close(struct trace *t);

const char *trace_chunk_name(u32 kind);
const char *trace_how_name(u32 how);
/* A sentence's part: why a process was not traced. */
const char *trace_untraced_text(u32 untraced);

#endif
