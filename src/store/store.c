/* SPDX-License-Identifier: MIT */
/* Writer and reader of the trace file, side by side so that they cannot drift apart. */
#include "store/store.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

static const char file_magic[8] = "GAITTRC";
#define CHUNK_MAGIC 0x4b4e4843u /* "CHNK" */
/* Of much, a better level would give a sixth of the bytes for twice the time; of little it costs nothing. */
enum { QUICK_FROM = 1 << 20, LONG_FROM = 16 << 20, LONG_LOG2 = 26, LEVEL_QUICK = 1, LEVEL_SHORT = 3 };

struct file_header {
    char magic[8];
    u32 version, flags;
};

struct chunk_header {
    u32 magic, kind, owner, flags;
    u64 sequence, raw_size, stored_size;
    u64 checksum;
};

_Static_assert(sizeof(struct file_header) == STORE_FILE_HEADER, "format");
_Static_assert(sizeof(struct chunk_header) == STORE_CHUNK_HEADER, "format");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the structs are the file's bytes");

/* The checksum of a whole chunk, lying in memory with its checksum field zero. */
static u64 seal_of(const u8 *chunk, u64 stored_size)
{
    return XXH3_64bits(chunk, STORE_CHUNK_HEADER + stored_size);
}

static void bytes_resize(struct store_bytes *b, size_t n)
{
    if (n > b->cap || !b->v)
        b->v = vec_realloc(b->v, &b->cap, n, 1);
    b->n = n;
}

static char *copy_text(const char *s)
{
    char *p = strdup(s);
    check(p != NULL);
    return p;
}

/* -- Pressing ---------------------------------------------------------------------------------- */

void store_press(struct store_press *p, const void *data, size_t size)
{
    check(size <= STORE_CHUNK_LIMIT);
    size_t room = ZSTD_compressBound(size);
    if (!p->zstd)
        p->zstd = ZSTD_createCCtx();
    check(p->zstd != NULL);
    bytes_resize(&p->chunk, STORE_CHUNK_HEADER + room);
    u8 *stored = p->chunk.v + STORE_CHUNK_HEADER;
    /* Where there is very much of it, it may be that an iteration of the program comes back, megabytes later. To look for that takes as long as all the rest: it
     * is not done for chunks of a program that writes faster than is packed, which are smaller. */
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_compressionLevel, size >= QUICK_FROM ? LEVEL_QUICK : LEVEL_SHORT);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_enableLongDistanceMatching, size >= LONG_FROM);
    ZSTD_CCtx_setParameter(p->zstd, ZSTD_c_windowLog, size >= LONG_FROM ? LONG_LOG2 : 0);
    size_t n = ZSTD_compress2(p->zstd, stored, room, data, size);
    bool smaller = !ZSTD_isError(n) && n < size;
    if (!smaller && size)
        memcpy(stored, data, size);
    p->raw_size = size;
    p->stored_size = smaller ? n : size;
    p->flags = smaller ? STORE_ZSTD : 0;
}

void store_press_fini(struct store_press *p)
{
    ZSTD_freeCCtx(p->zstd);
    vec_fini(&p->chunk);
    *p = (struct store_press){0};
}

/* -- Writer ------------------------------------------------------------------------------------ */

/* Write everything; a partial write that makes no progress is ENOSPC. Returns 0 or an errno. */
static int write_all(int fd, const u8 *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return k < 0 ? errno : ENOSPC;
        p += k;
        n -= (size_t)k;
    }
    return 0;
}

/* Append bytes that belong together. After a failure the file ends where it ended before, or, if it
 * cannot be cut (a device, a pipe), a reader sees a torn chunk and stops there. */
static int put_sealed(struct store_writer *w, const void *p, size_t n, struct err *e)
{
    int cause = write_all(w->fd, p, n);
    if (!cause) {
        w->at += n;
        return 0;
    }
    w->failed = true;
    bool cut = ftruncate(w->fd, (off_t)w->at) == 0;
    return err_set(e,
                   "cannot write to %s: %s; what was written before%s can be read; "
                   "make room or choose another place with -o",
                   w->path, strerror(cause), cut ? "" : " the torn end");
}

int store_writer_open(struct store_writer *w, const char *path, struct err *e)
{
    *w = (struct store_writer){.fd = -1};
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_set(e, "cannot create %s: %s; choose another place with -o", path,
                       strerror(errno));
    w->fd = fd;
    w->path = copy_text(path);
    struct file_header h = {.version = STORE_VERSION};
    memcpy(h.magic, file_magic, sizeof h.magic);
    if (put_sealed(w, &h, sizeof h, e)) {
        store_writer_abandon(w);
        return -1;
    }
    return 0;
}

int store_writer_reopen(struct store_writer *w, const char *path, u64 at, u64 chunks, struct err *e)
{
    *w =
        (struct store_writer){.fd = open(path, O_WRONLY | O_CLOEXEC), .at = at, .sequence = chunks};
    if (w->fd < 0)
        return err_set(e, "cannot change %s: %s", path, strerror(errno));
    w->path = copy_text(path);
    if (!ftruncate(w->fd, (off_t)at) && lseek(w->fd, (off_t)at, SEEK_SET) == (off_t)at)
        return 0;
    err_set(e, "cannot change %s: %s", path, strerror(errno));
    store_writer_abandon(w);
    return -1;
}

int store_append_pressed(struct store_writer *w, u32 kind, u32 owner, struct store_press *p,
                         struct err *e)
{
    if (w->failed)
        return err_set(e, "cannot write to %s: an earlier write failed", w->path);
    struct chunk_header h = {.magic = CHUNK_MAGIC,
                             .kind = kind,
                             .owner = owner,
                             .flags = p->flags,
                             .sequence = w->sequence,
                             .raw_size = p->raw_size,
                             .stored_size = p->stored_size};
    memcpy(p->chunk.v, &h, sizeof h);
    h.checksum = seal_of(p->chunk.v, h.stored_size);
    memcpy(p->chunk.v, &h, sizeof h);
    if (put_sealed(w, p->chunk.v, sizeof h + h.stored_size, e))
        return -1;
    w->sequence++;
    return 0;
}

int store_append(struct store_writer *w, u32 kind, u32 owner, const void *data, size_t size,
                 struct err *e)
{
    store_press(&w->press, data, size);
    return store_append_pressed(w, kind, owner, &w->press, e);
}

void store_writer_abandon(struct store_writer *w)
{
    if (w->fd >= 0)
        close(w->fd);
    store_press_fini(&w->press);
    free(w->path);
    *w = (struct store_writer){.fd = -1};
}

int store_writer_close(struct store_writer *w, struct err *e)
{
    int bad = store_append(w, STORE_KIND_END, 0, NULL, 0, e);
    /* Network file systems report a full disk only here. */
    if (close(w->fd) && !bad)
        bad = err_set(e, "cannot finish %s: %s; the trace may be incomplete", w->path,
                      strerror(errno));
    w->fd = -1;
    store_writer_abandon(w);
    return bad;
}

/* -- Reader ------------------------------------------------------------------------------------ */

/* Read exactly n bytes at an offset that lies within the size seen at open. Returns 0, or -1 with a
 * sentence. */
static int read_at(struct store_reader *r, void *p, size_t n, u64 at, struct err *e)
{
    for (size_t got = 0; got < n;) {
        ssize_t k = pread(r->fd, (u8 *)p + got, n - got, (off_t)(at + got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_set(e, "cannot read %s: %s", r->path, strerror(errno));
        if (k == 0)
            return err_set(e, "%s became shorter while it was read", r->path);
        got += (size_t)k;
    }
    return 0;
}

static int check_file_header(struct store_reader *r, struct err *e)
{
    struct file_header h;
    if (r->size < sizeof h)
        return err_set(
            e, "%s is not a gait trace: it has only %lu bytes; give a file written by gait record",
            r->path, (unsigned long)r->size);
    if (read_at(r, &h, sizeof h, 0, e))
        return -1;
    if (memcmp(h.magic, file_magic, sizeof h.magic))
        return err_set(e,
                       "%s is not a gait trace: it does not begin with GAITTRC; give a file "
                       "written by gait record",
                       r->path);
    if (h.version > STORE_VERSION)
        return err_set(e,
                       "%s has trace format version %u, newer than version %u that this gait "
                       "reads; use a newer gait",
                       r->path, h.version, STORE_VERSION);
    if (h.version && h.version < STORE_OLDEST)
        return err_set(
            e,
            "%s has trace format version %u, older than version %u that this gait reads; "
            "record it again",
            r->path, h.version, STORE_OLDEST);
    if (!h.version || h.flags)
        return err_set(e, "%s has a damaged header (version %u, flags %u); record it again",
                       r->path, h.version, h.flags);
    r->version = h.version;
    return 0;
}

int store_reader_open(struct store_reader *r, const char *path, struct err *e)
{
    *r = (struct store_reader){.at = STORE_FILE_HEADER};
    struct stat st;
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    r->path = copy_text(path);
    r->zstd = ZSTD_createDCtx();
    check(r->zstd != NULL);
    if (r->fd < 0 || fstat(r->fd, &st)) {
        err_set(e, "cannot open %s: %s; give a file written by gait record", path, strerror(errno));
        goto fail;
    }
    if (!S_ISREG(st.st_mode)) {
        err_set(e, "cannot read %s: it is not a regular file; give a file written by gait record",
                path);
        goto fail;
    }
    r->size = (u64)st.st_size;
    if (!check_file_header(r, e))
        return 0;
fail:
    store_reader_close(r);
    return -1;
}

void store_reader_share(struct store_reader *r, const struct store_reader *of)
{
    *r = (struct store_reader){.fd = of->fd, .path = of->path, .size = of->size};
    r->zstd = ZSTD_createDCtx();
    check(r->zstd != NULL);
}

void store_reader_unshare(struct store_reader *r)
{
    ZSTD_freeDCtx(r->zstd);
    vec_fini(&r->stored);
}

void store_reader_close(struct store_reader *r)
{
    if (r->fd >= 0)
        close(r->fd);
    ZSTD_freeDCtx(r->zstd);
    vec_fini(&r->stored);
    free(r->path);
    *r = (struct store_reader){.fd = -1};
}

static int damaged(const struct store_reader *r, u64 sequence, u64 offset, const char *what,
                   struct err *e)
{
    return err_set(e, "%s is damaged: chunk %lu at offset %lu %s; copy or record it again", r->path,
                   (unsigned long)sequence, (unsigned long)offset, what);
}

/* What is wrong with a header, sizes first: nothing is allocated for a chunk that fails here. */
static const char *header_fault(const struct chunk_header *h, u64 sequence)
{
    if (h->magic != CHUNK_MAGIC)
        return "does not begin like a chunk";
    if (h->flags & ~(u32)STORE_ZSTD)
        return "has unknown flags";
    if (h->sequence != sequence)
        return "is out of sequence";
    if (h->raw_size > STORE_CHUNK_LIMIT)
        return "claims more than 64 MB";
    if (h->flags & STORE_ZSTD ? h->stored_size >= h->raw_size : h->stored_size != h->raw_size)
        return "has sizes that do not fit together";
    if (h->kind == STORE_KIND_END && h->raw_size)
        return "is an end chunk with contents";
    return NULL;
}

static struct store_chunk chunk_of(const struct chunk_header *h, u64 offset)
{
    return (struct store_chunk){.kind = h->kind,
                                .owner = h->owner,
                                .flags = h->flags,
                                .sequence = h->sequence,
                                .raw_size = h->raw_size,
                                .stored_size = h->stored_size,
                                .offset = offset};
}

/* Take the checksum out of a chunk in memory and say whether it is the right one. */
static bool seal_is_good(u8 *chunk, u64 stored_size)
{
    u64 sum;
    u8 *field = chunk + offsetof(struct chunk_header, checksum);
    memcpy(&sum, field, sizeof sum);
    memset(field, 0, sizeof sum);
    return sum == seal_of(chunk, stored_size);
}

static enum store_step end_step(struct store_reader *r, struct chunk_header *h, struct err *e)
{
    if (!seal_is_good((u8 *)h, 0))
        return damaged(r, h->sequence, r->at, "has a wrong checksum", e);
    if (r->at + sizeof *h != r->size)
        return damaged(r, h->sequence, r->at, "is the end chunk but does not end the file", e);
    r->at = r->size;
    return STORE_END;
}

enum store_step store_next(struct store_reader *r, struct store_chunk *c, struct err *e)
{
    struct chunk_header h;
    u64 left = r->size - r->at;
    if (left < sizeof h) {
        err_set(e,
                "%s: the recording was interrupted: the file ends %s chunk %lu at offset %lu, "
                "without an end chunk",
                r->path, left ? "inside the header of" : "before", (unsigned long)r->sequence,
                (unsigned long)r->at);
        return STORE_CUT;
    }
    if (read_at(r, &h, sizeof h, r->at, e))
        return STORE_DAMAGED;
    const char *fault = header_fault(&h, r->sequence);
    if (fault)
        return damaged(r, r->sequence, r->at, fault, e);
    if (h.stored_size > left - sizeof h) {
        err_set(e,
                "%s: the recording was interrupted: chunk %lu at offset %lu has only %lu of its "
                "%lu bytes",
                r->path, (unsigned long)r->sequence, (unsigned long)r->at, (unsigned long)left,
                (unsigned long)(sizeof h + h.stored_size));
        return STORE_CUT;
    }
    if (h.kind == STORE_KIND_END)
        return end_step(r, &h, e);
    *c = chunk_of(&h, r->at);
    r->at += sizeof h + h.stored_size;
    r->sequence++;
    return STORE_NEXT;
}

static int unpack(struct store_reader *r, const struct store_chunk *c, const u8 *stored,
                  struct store_bytes *into, struct err *e)
{
    bytes_resize(into, c->raw_size);
    if (!(c->flags & STORE_ZSTD)) {
        memcpy(into->v, stored, c->raw_size);
        return 0;
    }
    size_t n = ZSTD_decompressDCtx(r->zstd, into->v, c->raw_size, stored, c->stored_size);
    if (ZSTD_isError(n) || n != c->raw_size)
        return damaged(r, c->sequence, c->offset, "cannot be decompressed", e);
    return 0;
}

int store_load(struct store_reader *r, const struct store_chunk *c, struct store_bytes *into,
               struct err *e)
{
    size_t n = STORE_CHUNK_HEADER + c->stored_size;
    struct chunk_header h;
    bytes_resize(&r->stored, n);
    if (read_at(r, r->stored.v, n, c->offset, e))
        return -1;
    memcpy(&h, r->stored.v, sizeof h);
    bool same = h.kind == c->kind && h.owner == c->owner && h.flags == c->flags &&
                h.raw_size == c->raw_size && h.stored_size == c->stored_size;
    /* A file that changed since store_next may be sealed well and still be another chunk. */
    if (!same || !seal_is_good(r->stored.v, c->stored_size))
        return damaged(r, c->sequence, c->offset, "has a wrong checksum", e);
    return unpack(r, c, r->stored.v + sizeof h, into, e);
}
