/* SPDX-License-Identifier: MIT */
/* The store keeps what it was given, or says what is wrong; cut and flipped everywhere. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create */
#endif
#include "store/store.h"
#include "base/vec.h"
#include "test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SMALL_CHUNKS = 4 };
static char dir[] = "/tmp/gait-test-store-XXXXXX";
static char path[64];

/* Contents of chunk i of the small file: compressible, incompressible, empty, tiny. */
static size_t contents(int i, u8 *to)
{
    static const size_t sizes[SMALL_CHUNKS] = {300, 40, 0, 3};
    for (size_t k = 0; k < sizes[i]; k++)
        to[k] = i == 0 ? 'a' : (u8)(k * 89 + (k * k >> 3));
    return sizes[i];
}

static int write_small(void)
{
    struct store_writer w;
    struct err e;
    u8 data[512];
    if (store_writer_open(&w, path, &e))
        return -1;
    for (int i = 0; i < SMALL_CHUNKS; i++) {
        size_t n = contents(i, data);
        if (store_append(&w, 10 + (u32)i, (u32)i, data, n, &e))
            return -1;
    }
    return store_writer_close(&w, &e);
}

/* Read everything: how many chunks came back exactly as written, and how it ended. */
static int read_back(const char *from, int *good, struct err *e)
{
    struct store_reader r;
    struct store_chunk c;
    struct store_bytes bytes = {0};
    u8 data[512];
    *good = 0;
    e->text[0] = 0;
    if (store_reader_open(&r, from, e))
        return STORE_DAMAGED;
    int step, bad = 0;
    while (!bad && (step = store_next(&r, &c, e)) == STORE_NEXT) {
        bad = store_load(&r, &c, &bytes, e);
        if (bad)
            break;
        size_t n = contents(*good % SMALL_CHUNKS, data);
        CHECK(c.kind == 10u + (u32)*good && c.owner == (u32)*good && bytes.n == n &&
              !memcmp(bytes.v, data, n));
        ++*good;
    }
    vec_fini(&bytes);
    store_reader_close(&r);
    return bad ? STORE_DAMAGED : step;
}

static size_t slurp(u8 *to, size_t cap)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = read(fd, to, cap);
    close(fd);
    return n < 0 ? 0 : (size_t)n;
}

/* Read bytes as if they were a file; everything the reader does must stay within them. */
static int read_bytes(const u8 *p, size_t n, int *good, struct err *e)
{
    int fd = memfd_create("trace", 0);
    char name[64];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    CHECK(write(fd, p, n) == (ssize_t)n);
    int step = read_back(name, good, e);
    close(fd);
    return step;
}

static void round_trip(void)
{
    struct err e;
    int good;
    CHECK(write_small() == 0);
    CHECK(read_back(path, &good, &e) == STORE_END);
    CHECK(good == SMALL_CHUNKS);
}

static void a_cut_anywhere_is_noticed(void)
{
    u8 file[4096];
    size_t n = slurp(file, sizeof file);
    int good, best = 0;
    struct err e;
    for (size_t cut = 0; cut < n; cut++) {
        int step = read_bytes(file, cut, &good, &e);
        CHECK_CASE(step < 0 && e.text[0], "cut at %zu", cut);
        if (cut >= STORE_FILE_HEADER)
            CHECK_CASE(step == STORE_CUT && strstr(e.text, "interrupted"), "cut at %zu", cut);
        CHECK_CASE(good >= best, "cut at %zu", cut); /* a longer file never gives less */
        best = good;
    }
    CHECK(best == SMALL_CHUNKS);
}

static void a_flipped_bit_is_noticed(void)
{
    u8 file[4096];
    size_t n = slurp(file, sizeof file);
    int good;
    struct err e;
    for (size_t bit = 0; bit < 8 * n; bit++) {
        if (bit == 65) /* version 4, which has the same chunks */
            continue;
        file[bit / 8] ^= (u8)(1 << bit % 8);
        int step = read_bytes(file, n, &good, &e);
        CHECK_CASE(step < 0 && e.text[0], "bit %zu", bit);
        file[bit / 8] ^= (u8)(1 << bit % 8);
    }
}

static void a_long_tail_is_noticed(void)
{
    u8 file[4096] = {0};
    size_t n = slurp(file, sizeof file - 100);
    int good;
    struct err e;
    CHECK(read_bytes(file, n + 1, &good, &e) == STORE_DAMAGED);
    CHECK(strstr(e.text, "does not end the file") != NULL);
}

static void another_version_is_refused(void)
{
    u8 file[4096];
    size_t n = slurp(file, sizeof file);
    int good;
    struct err e;
    file[8] = 7;
    CHECK(read_bytes(file, n, &good, &e) == STORE_DAMAGED);
    CHECK(good == 0 && strstr(e.text, "version 7, newer than version 6") != NULL);
    file[8] = 1;
    CHECK(read_bytes(file, n, &good, &e) == STORE_DAMAGED);
    CHECK(good == 0 && strstr(e.text, "version 1, older than version 4") != NULL);
}

static void a_wrong_checksum_names_chunk_and_offset(void)
{
    u8 file[4096];
    size_t n = slurp(file, sizeof file);
    int good;
    struct err e;
    file[STORE_FILE_HEADER + STORE_CHUNK_HEADER]++;
    CHECK(read_bytes(file, n, &good, &e) == STORE_DAMAGED);
    CHECK(strstr(e.text, "chunk 0 at offset 16 has a wrong checksum") != NULL);
}

/* A header may claim anything: nothing is allocated for it. */
static void huge_sizes_are_refused(void)
{
    u8 file[4096];
    size_t n = slurp(file, sizeof file);
    u64 huge[] = {STORE_CHUNK_LIMIT + 1ul, 1ul << 40, ~0ul};
    int good;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(huge); i++) {
        memcpy(file + STORE_FILE_HEADER + 24, &huge[i], 8);
        CHECK(read_bytes(file, n, &good, &e) == STORE_DAMAGED);
        CHECK(strstr(e.text, "claims more than 64 MB") != NULL);
    }
}

static void what_is_no_trace_is_refused(void)
{
    struct err e;
    int good;
    CHECK(read_back("/", &good, &e) == STORE_DAMAGED);
    CHECK(strstr(e.text, "not a regular file") != NULL);
    CHECK(read_back("/nonexistent/x.gait", &good, &e) == STORE_DAMAGED);
    CHECK(strstr(e.text, "/nonexistent/x.gait: No such file") != NULL);
    CHECK(read_bytes((const u8 *)"\177ELF and so on, longer", 23, &good, &e) == STORE_DAMAGED);
    CHECK(strstr(e.text, "is not a gait trace") != NULL);
}

static void a_place_that_cannot_be_written_is_refused(void)
{
    struct store_writer w;
    struct err e;
    CHECK(store_writer_open(&w, "/nonexistent/x.gait", &e) == -1);
    CHECK(strstr(e.text, "cannot create /nonexistent/x.gait: No such file") &&
          strstr(e.text, "-o"));
    CHECK(store_writer_open(&w, "/dev/full", &e) == -1);
    CHECK(strstr(e.text, "/dev/full: No space left on device") != NULL);
}

/* Fill a file up to a limit of its size, in chunks that do not compress; the torn chunk is cut off.
 */
static void a_full_disk_leaves_what_was_sealed(void)
{
    struct rlimit old, small = {20000, RLIM_INFINITY};
    struct store_writer w;
    struct err e;
    u8 data[3000];
    int sealed = 0, good = 0;
    getrlimit(RLIMIT_FSIZE, &old);
    small.rlim_max = old.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    CHECK(store_writer_open(&w, path, &e) == 0);
    setrlimit(RLIMIT_FSIZE, &small);
    for (u32 x = 1; sealed < 100; sealed++) {
        for (size_t i = 0; i < sizeof data; i++, x = x * 1103515245 + 12345)
            data[i] = (u8)(x >> 16);
        if (store_append(&w, 7, 0, data, sizeof data, &e))
            break;
    }
    CHECK(sealed == 6);
    CHECK(strstr(e.text, "File too large") && strstr(e.text, path));
    CHECK(store_append(&w, 7, 0, data, 1, &e) == -1); /* and no more is written behind it */
    CHECK(store_writer_close(&w, &e) == -1);
    setrlimit(RLIMIT_FSIZE, &old);

    struct store_reader r;
    struct store_chunk c;
    struct store_bytes bytes = {0};
    enum store_step step;
    CHECK(store_reader_open(&r, path, &e) == 0);
    while ((step = store_next(&r, &c, &e)) == STORE_NEXT && !store_load(&r, &c, &bytes, &e))
        good++;
    CHECK(step == STORE_CUT && good == sealed);
    CHECK(strstr(e.text, "ends before chunk 6") != NULL);
    vec_fini(&bytes);
    store_reader_close(&r);
}

static void the_largest_chunk_comes_back(void)
{
    struct store_writer w;
    struct store_reader r;
    struct store_chunk c;
    struct store_bytes bytes = {0};
    struct err e;
    u8 *data = calloc(1, STORE_CHUNK_LIMIT);
    data[STORE_CHUNK_LIMIT - 1] = 9;
    CHECK(store_writer_open(&w, path, &e) == 0);
    CHECK(store_append(&w, 1, 0, data, STORE_CHUNK_LIMIT, &e) == 0);
    CHECK(store_writer_close(&w, &e) == 0);
    CHECK(store_reader_open(&r, path, &e) == 0);
    CHECK(store_next(&r, &c, &e) == STORE_NEXT && !store_load(&r, &c, &bytes, &e));
    CHECK(bytes.n == STORE_CHUNK_LIMIT && !memcmp(bytes.v, data, STORE_CHUNK_LIMIT));
    CHECK(store_next(&r, &c, &e) == STORE_END);
    vec_fini(&bytes);
    store_reader_close(&r);
    free(data);
}

int main(void)
{
    if (!mkdtemp(dir))
        return 1;
    snprintf(path, sizeof path, "%s/x.gait", dir);
    round_trip();
    a_cut_anywhere_is_noticed();
    a_flipped_bit_is_noticed();
    a_long_tail_is_noticed();
    another_version_is_refused();
    a_wrong_checksum_names_chunk_and_offset();
    huge_sizes_are_refused();
    what_is_no_trace_is_refused();
    a_place_that_cannot_be_written_is_refused();
    a_full_disk_leaves_what_was_sealed();
    the_largest_chunk_comes_back();
    unlink(path);
    rmdir(dir);
    return test_end("store");
}
