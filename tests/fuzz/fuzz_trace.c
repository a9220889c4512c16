/* SPDX-License-Identifier: MIT */
/* Any bytes as a trace, through everything that reads one: store, trace, unit table, decoder, profiles.
 *
 * The first byte chooses. Even: the rest is a file. Odd: the rest is a list of chunks, which are
 * sealed properly, for a fuzzer does not find checksums: u8 kind, u16 size, contents. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "analyze/profiles.h"
#include "decode/walk.h"
#include "wire/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BATCHES = 16 /* a rep instruction may claim to go on for ages */ };

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void put_chunks(struct store_writer *w, const u8 *p, size_t left)
{
    struct err e;
    while (left >= 3) {
        size_t n = p[1] | (size_t)p[2] << 8;
        n = MIN(n, left - 3);
        store_append(w, p[0] % 16, p[0] / 16, p + 3, n, &e);
        p += 3 + n;
        left -= 3 + n;
    }
    store_writer_close(w, &e);
}

static void put_file(const char *path, int fd, const u8 *data, size_t size)
{
    struct store_writer w;
    struct err e;
    if (data[0] & 1 && !store_writer_open(&w, path, &e))
        put_chunks(&w, data + 1, size - 1);
    else if (write(fd, data + 1, size - 1) < 0)
        abort();
}

/* Look at everything a consumer would look at, and keep the compiler from leaving it out. */
static void look_at_batch(const struct walk *w)
{
    const struct batch *b = w->batch;
    u32 size;
    for (u32 i = 0; i < b->n_records; i++) {
        if (b->exit[i] < FIRST_EXIT_ID)
            continue;
        struct share s = walk_share(w, i);
        check(s.from <= s.to);
        for (u32 j = b->first[i]; j < b->first[i + 1]; j++) {
            u64 all = walk_ref(w, j, &size)->insn + b->addr[j] + size;
            __asm__ volatile("" ::"r"(all));
        }
    }
}

static void read_file(const char *path)
{
    struct trace t;
    struct walk w;
    struct trace_counts n = {0};
    struct profiles p;
    struct err e;
    if (trace_open(&t, path, &e))
        return;
    walk_init(&w, &t);
    profiles_begin(&p, &t, PROFILES_sequitur, 100);
    for (int i = 0; i < BATCHES && walk_next(&w, &e) > 0; i++) {
        look_at_batch(&w);
        walk_count(&w, &n);
        profiles_batch(&p, &w);
    }
    profiles_end(&p);
    walk_fini(&w);
    trace_close(&t);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
    char path[64];
    if (size < 1)
        return 0;
    int fd = memfd_create("trace", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    put_file(path, fd, data, size);
    read_file(path);
    close(fd);
    return 0;
}
