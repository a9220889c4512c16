/* SPDX-License-Identifier: MIT */
/* The trace on disk: sealed chunks, appended only. The store knows boxes, not what is inside.
 *
 *   file:   | "GAITTRC\0" | u32 version | u32 flags (0) | chunk | chunk | ... | end chunk |
 *   chunk:  | u32 magic | u32 kind | u32 owner | u32 flags |
 *           | u64 sequence | u64 raw size | u64 stored size | u64 checksum | stored bytes |
 *
 * The checksum is XXH3-64 over the whole chunk with this field zero, so a chunk is sealed or it is
 * not there. Sequences count from 0. The end chunk (kind 0, empty) is the last thing in a file:
 * without it the recording was interrupted, and everything before the cut is still good.
 *
 * docs/trace-format.md is normative. A writer or reader belongs to one thread at a time. */
#ifndef STORE_H
#define STORE_H

#include "base/base.h"
#include "base/err.h"

#define STORE_VERSION 6
#define STORE_OLDEST  4 /* that can still be read */
#define STORE_WITH_VALUES 5 /* the first whose references may have values */

enum {
    STORE_KIND_END = 0,           /* the store's own; every other kind is the owner's */
    STORE_CHUNK_LIMIT = 64 << 20, /* raw bytes in one chunk; checked before memory is spent */
    STORE_ZSTD = 1, /* flag: the stored bytes are one zstd frame; otherwise they are the contents */
    STORE_FILE_HEADER = 16,
    STORE_CHUNK_HEADER = 48,
};

/* Bytes that grow; the members are those of base/vec.h, so that its verbs work. */
struct store_bytes {
    u8 *v;
    size_t n, cap;
};

/* -- Writing ----------------------------------------------------------------------------------- */

/* Contents, compressed where that makes them smaller. Pressing is most of the work of writing, and needs no writer. */
struct store_press {
    struct ZSTD_CCtx_s *zstd; /* NULL until it is first used */
    struct store_bytes chunk; /* room for the header, then the stored bytes */
    u64 raw_size, stored_size;
    u32 flags;
};

/* Press at most STORE_CHUNK_LIMIT bytes, in the place of what was pressed before. */
void store_press(struct store_press *p, const void *data, size_t size);
void store_press_fini(struct store_press *p);

struct store_writer {
    int fd; /* -1 when closed */
    char *path;
    u64 at;                   /* where the next chunk begins: all before is sealed */
    u64 sequence;             /* of the next chunk */
    bool failed;              /* a write failed; nothing more is appended */
    struct store_press press; /* for store_append */
};

/* Create the file, or empty the one that is there. */
int store_writer_open(struct store_writer *w, const char *path, struct err *e);
/* Go on with a file that ends, soundly, before offset `at`, after so many chunks; what stands behind is cut off. */
int store_writer_reopen(struct store_writer *w, const char *path, u64 at, u64 chunks,
                        struct err *e);
/* Seal one chunk. A chunk that did not fit is cut off again. Whose it is (a thread's, a process's) is the caller's
 * business. */
int store_append_pressed(struct store_writer *w, u32 kind, u32 owner, struct store_press *p,
                         struct err *e);
/* The same with contents that are still to be pressed. */
int store_append(struct store_writer *w, u32 kind, u32 owner, const void *data, size_t size,
                 struct err *e);
/* Write the end chunk, unless a write had failed, and close. */
int store_writer_close(struct store_writer *w, struct err *e);
/* Close without an end chunk: readers will say that the recording was interrupted. */
void store_writer_abandon(struct store_writer *w);

/* -- Reading ----------------------------------------------------------------------------------- */

struct store_chunk {
    u32 kind, owner, flags;
    u64 sequence, raw_size, stored_size;
    u64 offset; /* of the chunk's header in the file */
};

struct store_reader {
    int fd;
    char *path;
    u32 version;
    u64 size; /* of the file, when it was opened */
    u64 at;
    u64 sequence;
    struct ZSTD_DCtx_s *zstd;
    struct store_bytes stored;
};

enum store_step {
    STORE_NEXT = 1,     /* a chunk */
    STORE_END = 0,      /* the end chunk, and nothing behind it */
    STORE_DAMAGED = -1, /* this is not a chunk */
    STORE_CUT = -2,     /* the file ends before the end chunk: the recording was interrupted */
};

int store_reader_open(struct store_reader *r, const char *path, struct err *e);
/* Step to the next chunk. Only its header is read, and believed only as far as it stays in bounds:
 * the seal is checked by store_load. With DAMAGED and CUT, e says what is missing and where. */
enum store_step store_next(struct store_reader *r, struct store_chunk *c, struct err *e);
/* Read a chunk that store_next gave, in any order; check its seal; replace the bytes in `into` by
 * its contents. */
int store_load(struct store_reader *r, const struct store_chunk *c, struct store_bytes *into,
               struct err *e);
void store_reader_close(struct store_reader *r);
/* A reader for another thread, of a file that is open and stays so; only for store_load. */
void store_reader_share(struct store_reader *r, const struct store_reader *of);
void store_reader_unshare(struct store_reader *r);

#endif
