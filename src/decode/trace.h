/* SPDX-License-Identifier: MIT */
/* What is inside a trace's chunks, for writing and for reading. docs/trace-format.md is normative.
 *
 * Writing, by one thread at a time:
 *
 *     trace_writer_open(&w, path, argc, argv, &e);
 *     for each buffer drained:
 *         trace_write_units(&w, &table, &e);       what is new in the table since the last call
 *         trace_write_records(&w, thread, data, size, &e);
 *     trace_write_modules, trace_write_threads:    at any time; each call adds to what is there
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
#include "store/store.h"
#include "translate/unit.h"

enum chunk_kind {
#define CHUNK(name, kind, what) CHUNK_##name = kind,
#include "decode/chunks.def"
#undef CHUNK
    CHUNK_KIND_LIMIT,
};

enum { TRACE_THREAD_LIMIT = 1 << 20 /* thread numbers are below this */ };

/* A file mapped into the program; text belongs to whoever made it. */
struct trace_module {
    u64 start, end; /* addresses */
    u64 offset;     /* of start in the file */
    char *build_id; /* hex digits, or "" */
    char *path;
};

struct trace_thread {
    u32 number; /* as in the chunks of its records */
    u32 tid;    /* the kernel's */
    char *name;
};

enum trace_ending {
    TRACE_ENDED_unknown,
    TRACE_ENDED_exited,   /* status: the exit status */
    TRACE_ENDED_signal,   /* status: the signal that killed it */
    TRACE_ENDED_detached, /* it went on without us */
    TRACE_ENDING_LIMIT,
};

struct trace_counts {
    u64 instructions, loads, stores, modifies, records, syscalls;
    u64 bytes; /* of records, before compression */
};

struct trace_summary {
    u32 ending, status;
    u32 counted;                  /* whether `counts` was filled in while recording */
    u32 untraced;                 /* tasks of the program that ran natively */
    u64 lost_buffers, lost_bytes; /* dropped because nobody drained them in time */
    struct trace_counts counts;
};

/* -- Writing --------------------------------------------------------------------------------- */

struct trace_lengths {
    u32 units, insns, refs, exits, code;
};

struct trace_writer {
    struct store_writer store;
    struct trace_lengths written; /* of the unit table */
    struct store_bytes buf;
};

int trace_writer_open(struct trace_writer *w, const char *path, int argc, char *const *argv,
                      struct err *e);
int trace_write_units(struct trace_writer *w, const struct unit_table *t, struct err *e);
int trace_write_records(struct trace_writer *w, u32 thread, const void *data, size_t size,
                        struct err *e);
int trace_write_modules(struct trace_writer *w, const struct trace_module *m, size_t n,
                        struct err *e);
int trace_write_threads(struct trace_writer *w, const struct trace_thread *t, size_t n,
                        struct err *e);
/* Seal the file. With a NULL summary nothing more is written: readers will say "interrupted". */
int trace_writer_close(struct trace_writer *w, const struct trace_summary *s, struct err *e);

/* -- Reading --------------------------------------------------------------------------------- */

/* One chunk of records, and how many exits the table had when it was written. */
struct trace_piece {
    struct store_chunk chunk;
    u32 n_exits;
};

struct trace {
    struct store_reader store;
    struct unit_table table;
    struct trace_lengths committed; /* what of the table arrived whole */
    u64 table_stored;               /* bytes of units chunks in the file, which bound the table */
    VEC(struct trace_piece) pieces;
    VEC(struct trace_module) modules;
    VEC(struct trace_thread) threads;
    VEC(char *) argv;
    bool has_summary;
    struct trace_summary summary;
    u64 n_chunks; /* sound ones, the end chunk not counted */
    bool complete;
    bool damaged;       /* if not complete: not just interrupted */
    struct err trouble; /* if not complete: the sentence that says what is missing */
};

/* Open a trace and read everything but the records. An interrupted or damaged trace opens, with
 * what stands before the damage; -1 only if nothing can be made of the file. */
int trace_open(struct trace *t, const char *path, struct err *e);
/* Load the records of pieces.v[i] into `into`, in any order. */
int trace_load(struct trace *t, size_t i, struct store_bytes *into, struct err *e);
void trace_close(struct trace *t);

const char *trace_chunk_name(u32 kind);

#endif
