/* SPDX-License-Identifier: MIT */
/* How quick the translator is: units of a program's code, following direct branches, with nobody running them.
 *
 *   build/bench/translate FILE [none|control|memory] [UNITS]
 *
 * FILE is an executable at fixed addresses, such as gcc's cc1; UNITS is 200000 if it is not given. */
#include "translate/state.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct {
    const u8 *bytes;
    u64 at, size;
} text;

static size_t fetch(void *ctx, u64 pc, u8 *buf, size_t n)
{
    (void)ctx;
    if (pc < text.at || pc - text.at >= text.size)
        return 0;
    n = MIN(n, text.size - (pc - text.at));
    memcpy(buf, text.bytes + (pc - text.at), n);
    return n;
}

static bool find_text(const char *path)
{
    int fd = open(path, O_RDONLY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || (size_t)st.st_size < sizeof(Elf64_Ehdr))
        return false;
    const u8 *file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    const Elf64_Ehdr *head = (const void *)file;
    if (file == MAP_FAILED || memcmp(head->e_ident, ELFMAG, SELFMAG) || head->e_type != ET_EXEC)
        return false;
    const Elf64_Phdr *part = (const void *)(file + head->e_phoff);
    for (u32 i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && part[i].p_flags & PF_X) {
            text.bytes = file + part[i].p_offset;
            text.at = part[i].p_vaddr;
            text.size = part[i].p_filesz;
        }
    return text.bytes != NULL;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Whatever the exits lead to, in the order of their numbers. Functions are found where something that looks like a call leads to. */
static void follow(struct translator *t, u32 limit)
{
    const struct unit_table *x = translator_table(t);
    struct err ignored;
    size_t i = 0;
    for (u64 at = 0; at + 5 < text.size && x->units.n < limit; at++) {
        s32 rel;
        memcpy(&rel, text.bytes + at + 1, sizeof rel);
        u64 head = at + 5 + (u64)(s64)rel;
        if (text.bytes[at] != 0xe8 || head % 16 || head >= text.size)
            continue;
        translate_pc(t, (struct app_pc){text.at + head}, BY_JUMP, &ignored);
        for (; i < x->exits.n && x->units.n < limit; i++)
            if (x->exits.v[i].target)
                translate_pc(t, (struct app_pc){x->exits.v[i].target}, BY_LINK, &ignored);
    }
}

int main(int argc, char **argv)
{
    const char *level = argc > 2 ? argv[2] : "none";
    u32 limit = argc > 3 ? (u32)atoi(argv[3]) : 200000;
    if (argc < 2 || !find_text(argv[1])) {
        fprintf(stderr, "usage: translate FILE [none|control|memory] [UNITS]; FILE is an executable at fixed addresses\n");
        return 2;
    }
    int fd = memfd_create("wire", 0);
    if (fd < 0 || ftruncate(fd, WIRE_SIZE))
        return 1;
    struct translate_config c = {
        .fetch = fetch,
        .wire = mmap(NULL, WIRE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
        .base = 0x40000000,
        .jump = 0x10000000,
        .events = !strcmp(level, "memory") ? EVENTS_memory : !strcmp(level, "control") ? EVENTS_control : EVENTS_none,
        .no_ahead = true,
    };
    if (c.wire == MAP_FAILED)
        return 1;
    double begin = now();
    struct translator *t = translator_new(&c);
    follow(t, limit);
    double seconds = now() - begin;
    struct translate_stats s = translator_stats(t);
    printf("%llu units, %llu instructions, %.1f MB of code in %.3f s: %.0f ns a unit, %.0f ns an instruction\n", (unsigned long long)s.units,
           (unsigned long long)s.insns, (double)s.cache_bytes / 1e6, seconds, 1e9 * seconds / (double)s.units, 1e9 * seconds / (double)s.insns);
    translator_free(t);
    return 0;
}
