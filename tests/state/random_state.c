/* SPDX-License-Identifier: MIT */
/* Random instruction sequences, and the state of the machine that each of them leaves.
 *
 *     random_state make SEED COUNT FILE      write COUNT sequences that run and end without a fault
 *     random_state run FILE RESULTS [I]      run them all; RESULTS gets 8 bytes for each; print I
 *     random_state write FILE RESULTS [I]    the same, but each is written to memory just before
 *     random_state show FILE I               run only one and print what it leaves
 *     random_state list FILE I               print its instructions
 *
 * `run`, `write` and `show` are for running natively and under gait: the results must be the same.
 * For `run` the file is mapped and executed, and its code cannot be written to; `write` is the
 * other matter. RESULTS is mapped too: a run that crashes leaves zeros from the sequence on at which
 * it crashed. */
#include "forms.h"
#include "sequence.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first time nothing of a sequence is translated, the second time all is. */
enum { ROUNDS = 2, ATTEMPTS = 1000, PAGE = 4096 };
#define MAGIC 0x3165746174736e72ull /* "rnstate1" */

struct header {
    u64 magic, seed, count;
    u64 offset[2], size[2]; /* of the low and the high code in the file */
};

static const u64 code_at[2] = {LOW_CODE_AT, HIGH_CODE_AT};

static _Noreturn void die(const char *what, const char *which)
{
    fprintf(stderr, "random_state: %s: %s\n", what, which);
    exit(2);
}

/* -- Making ----------------------------------------------------------------------------------- */

/* Code that can be run at its place and written from another. */
static u8 *map_code_twice(u64 address)
{
    int fd = memfd_create("code", MFD_CLOEXEC);
    void *place = (void *)(uintptr_t)address;
    if (fd < 0 || ftruncate(fd, CODE_ROOM) < 0 ||
        mmap(place, CODE_ROOM, PROT_READ | PROT_EXEC, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0) !=
            place)
        die("cannot map", "the code");
    u8 *p = mmap(NULL, CODE_ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
        die("cannot map", "the code");
    close(fd);
    return p;
}

/* Does it run to its end, and twice to the same end? */
static bool is_good(const struct sequence *s)
{
    for (u32 round = 0; round < ROUNDS; round++) {
        u64 first = 0;
        for (u32 time = 0; time < 2; time++) {
            world_prepare(&s->start, round);
            if (!world_run(s->address))
                return false;
            u64 h = world_hash(&s->start);
            if (time && h != first)
                return false;
            first = h;
        }
    }
    return true;
}

static struct {
    u64 attempts, instructions;
    u32 mnemonics;
    bool seen[ZYDIS_MNEMONIC_MAX_VALUE + 1];
} made;

static void count_instructions(const u8 *code, u32 size)
{
    ZydisDecoder d;
    ZydisDecodedInstruction z;
    ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (u32 i = 0; i < size; i += z.length) {
        if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, code + i, size - i, &z)))
            return;
        made.instructions++;
        made.mnemonics += !made.seen[z.mnemonic];
        made.seen[z.mnemonic] = true;
    }
}

static void make_one(struct sequence *s, u64 address, u8 *writable, u64 seed)
{
    static struct code c;
    for (u64 i = 0; i < ATTEMPTS; i++) {
        made.attempts++;
        struct rng r = {seed ^ i << 56};
        if (!sequence_make(s, &c, address, rng_next(&r)))
            continue;
        memcpy(writable, c.bytes, s->size);
        memset(writable + s->size, 0xcc, CODE_LIMIT - s->size); /* one that runs on is no good */
        if (is_good(s)) {
            count_instructions(c.bytes, s->code_size);
            return;
        }
    }
    die("cannot make a sequence", "all attempts faulted");
}

static void write_file(const char *path, struct header *h, const struct sequence *s,
                       u8 *const code[2])
{
    FILE *f = fopen(path, "wb");
    u64 at = sizeof *h + h->count * sizeof *s;
    for (u32 half = 0; half < 2; half++) {
        h->offset[half] = at = ALIGN_UP(at, PAGE);
        at += h->size[half];
    }
    bool ok = f && fwrite(h, sizeof *h, 1, f) == 1 && fwrite(s, sizeof *s, h->count, f) == h->count;
    for (u32 half = 0; half < 2 && ok; half++)
        ok = fseek(f, (long)h->offset[half], SEEK_SET) == 0 &&
             fwrite(code[half], 1, h->size[half], f) == h->size[half];
    if (!ok || fclose(f))
        die("cannot write", path);
}

static int make(u64 seed, u64 count, const char *path)
{
    struct header h = {.magic = MAGIC, .seed = seed, .count = count};
    struct sequence *s = calloc(count, sizeof *s);
    u8 *code[2] = {map_code_twice(code_at[0]), map_code_twice(code_at[1])};
    world_catch_faults();
    forms_collect(code_at[0], code[0]);
    for (u64 i = 0; i < count; i++) {
        u32 half = i & 1;
        if (h.size[half] + CODE_LIMIT > CODE_ROOM)
            die("too many sequences for one file", path);
        u64 *n = &h.size[half];
        make_one(&s[i], code_at[half] + *n, code[half] + *n, (seed << 32) + i);
        *n += s[i].size;
    }
    write_file(path, &h, s, code);
    printf("%llu sequences of %zu forms: %llu instructions, %u mnemonics; %llu thrown away\n",
           (unsigned long long)count, forms_count(), (unsigned long long)made.instructions,
           made.mnemonics, (unsigned long long)(made.attempts - count));
    return 0;
}

/* -- Running ---------------------------------------------------------------------------------- */

struct file {
    const struct header *h;
    const struct sequence *s;
    bool writes; /* the code is put in place one sequence at a time */
};

static struct file open_file(const char *path, bool writes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0 || (size_t)st.st_size < sizeof(struct header))
        die("cannot read", path);
    const struct header *h = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (h == MAP_FAILED || h->magic != MAGIC)
        die("not a file of sequences", path);
    for (u32 half = 0; half < 2; half++) {
        void *place = (void *)(uintptr_t)code_at[half];
        int prot = PROT_READ | PROT_EXEC | (writes ? PROT_WRITE : 0);
        int flags = MAP_PRIVATE | MAP_FIXED_NOREPLACE | (writes ? MAP_ANONYMOUS : 0);
        off_t offset = writes ? 0 : (off_t)h->offset[half];
        if (h->size[half] &&
            mmap(place, h->size[half], prot, flags, writes ? -1 : fd, offset) != place)
            die("cannot map the code of", path);
    }
    close(fd);
    return (struct file){h, (const struct sequence *)(h + 1), writes};
}

static void write_code(const struct file *f, const struct sequence *s)
{
    u32 half = s->address >= HIGH_CODE_AT;
    const u8 *from = (const u8 *)f->h + f->h->offset[half] + (s->address - code_at[half]);
    memcpy((void *)(uintptr_t)s->address, from, s->size);
}

static void run_one(const struct file *f, const struct sequence *s, u64 *result, bool shown)
{
    u64 h = 0;
    for (u32 round = 0; round < ROUNDS; round++) {
        if (f->writes)
            write_code(f, s);
        world_prepare(&s->start, round);
        world_run(s->address);
        if (f->writes)
            memset((void *)(uintptr_t)s->address, 0xcc, s->size);
        h = h * 3 + world_hash(&s->start);
        if (shown) {
            printf("round %u\n", round);
            world_dump(&s->start, stdout);
        }
    }
    *result = h ? h : 1;
}

static int run(const char *path, const char *results, u64 shown, bool writes)
{
    struct file f = open_file(path, writes);
    u64 n = f.h->count;
    int fd = open(results, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)(8 * n)) < 0)
        die("cannot write", results);
    u64 *out = mmap(NULL, 8 * n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (out == MAP_FAILED)
        die("cannot write", results);
    for (u64 i = 0; i < n; i++)
        run_one(&f, &f.s[i], &out[i], i == shown);
    return 0;
}

static const struct sequence *sequence_at(const struct file *f, const char *index)
{
    u64 i = strtoull(index, NULL, 0);
    if (i >= f->h->count)
        die("there is no sequence", index);
    return &f->s[i];
}

static int show(const char *path, const char *index)
{
    struct file f = open_file(path, false);
    const struct sequence *s = sequence_at(&f, index);
    u64 ignored;
    run_one(&f, s, &ignored, true);
    return 0;
}

static int list(const char *path, const char *index)
{
    struct file f = open_file(path, false);
    const struct sequence *s = sequence_at(&f, index);
    const u8 *code = (const u8 *)(uintptr_t)s->address;
    ZydisDisassembledInstruction x;
    u32 i = 0;
    for (; i < s->code_size; i += x.info.length) {
        if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, s->address + i,
                                                code + i, s->code_size - i, &x)))
            break;
        printf("%llx,%u  %s\n", (unsigned long long)x.runtime_address, x.info.length, x.text);
    }
    for (i = s->code_size; i < s->size; i += 8)
        printf("%llx,8  address %llx\n", (unsigned long long)s->address + i,
               *(const unsigned long long *)(code + i));
    return 0;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";
    world_map();
    if (!strcmp(verb, "make") && argc == 5)
        return make(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0), argv[4]);
    bool writes = !strcmp(verb, "write");
    if ((writes || !strcmp(verb, "run")) && (argc == 4 || argc == 5))
        return run(argv[2], argv[3], argc == 5 ? strtoull(argv[4], NULL, 0) : ~0ull, writes);
    if (!strcmp(verb, "show") && argc == 4)
        return show(argv[2], argv[3]);
    if (!strcmp(verb, "list") && argc == 4)
        return list(argv[2], argv[3]);
    fprintf(stderr,
            "usage: random_state make SEED COUNT FILE | run|write FILE RESULTS [I] | show FILE I | "
            "list FILE I\n");
    return 2;
}
