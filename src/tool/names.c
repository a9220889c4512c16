/* SPDX-License-Identifier: MIT */
/* Modules, one behind the other: numbers, then the two texts. */
#include "tool/names.h"
#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int names_file(void)
{
    return memfd_create("gait-modules", MFD_CLOEXEC);
}

struct entry {
    u32 process, path, build_id; /* lengths of the texts, with their zeros */
    u32 pad;
    u64 start, end, offset;
};

void names_write(int fd, const struct trace_module *m, size_t n)
{
    FILE *f = fdopen(dup(fd), "w");
    check(f != NULL);
    for (size_t i = 0; i < n; i++) {
        struct entry x = {.process = m[i].process,
                          .path = (u32)strlen(m[i].path) + 1,
                          .build_id = (u32)strlen(m[i].build_id) + 1,
                          .start = m[i].start,
                          .end = m[i].end,
                          .offset = m[i].offset};
        fwrite(&x, sizeof x, 1, f);
        fwrite(m[i].path, x.path, 1, f);
        fwrite(m[i].build_id, x.build_id, 1, f);
    }
    fclose(f);
}

static char *read_text(FILE *f, u32 n)
{
    char *s = calloc(n + 1ul, 1);
    check(s != NULL);
    if (fread(s, 1, n, f) != n)
        s[0] = 0;
    return s;
}

void names_open(struct names *x, int fd)
{
    FILE *f = fdopen(dup(fd), "r");
    struct entry m;
    *x = (struct names){.open = true};
    if (f) /* or a tool has closed it: nothing is known */
        rewind(f);
    while (f && fread(&m, sizeof m, 1, f) == 1) {
        struct trace_module own = {
            .process = m.process, .start = m.start, .end = m.end, .offset = m.offset};
        own.path = read_text(f, m.path);
        own.build_id = read_text(f, m.build_id);
        vec_push(&x->modules, own);
    }
    if (f)
        fclose(f);
    sources_init(&x->sources, x->modules.v, x->modules.n);
}

void names_use(struct names *x, const struct trace_module *m, size_t n)
{
    *x = (struct names){.open = true};
    sources_init(&x->sources, m, n);
}

struct gait_place names_find(struct names *x, u32 process, u64 pc)
{
    struct source s = sources_find(&x->sources, process, pc);
    return (struct gait_place){.module = s.module ? s.module->path : NULL,
                               .function = s.at.function,
                               .file = s.at.file,
                               .line = s.at.line,
                               .offset = s.offset};
}

void names_close(struct names *x)
{
    if (!x->open)
        return;
    sources_fini(&x->sources);
    for (size_t i = 0; i < x->modules.n; i++) {
        free(x->modules.v[i].path);
        free(x->modules.v[i].build_id);
    }
    vec_fini(&x->modules);
    x->open = false;
}
