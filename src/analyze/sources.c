/* SPDX-License-Identifier: MIT */
/* Files are opened when an address in them is first asked for, and once. */
#include "analyze/sources.h"

#include <stdlib.h>
#include <string.h>

void sources_init(struct sources *p, const struct trace_module *modules, size_t n)
{
    *p = (struct sources){.modules = modules, .n_modules = n};
}

void sources_fini(struct sources *p)
{
    for (size_t i = 0; i < p->files.n; i++)
        image_close(p->files.v[i].image);
    vec_fini(&p->files);
}

static struct image *image_of(struct sources *p, const struct trace_module *m)
{
    for (size_t i = 0; i < p->files.n; i++) {
        const struct source_file *f = &p->files.v[i];
        if (!strcmp(f->path, m->path) && !strcmp(f->build_id, m->build_id))
            return f->image;
    }
    struct image *image = image_open(m->path, m->build_id);
    vec_push(&p->files, ((struct source_file){m->path, m->build_id, image}));
    return image;
}

static const struct trace_module *module_at(const struct sources *p, u32 process, u64 address)
{
    for (size_t i = p->n_modules; i-- > 0;) {
        const struct trace_module *m = &p->modules[i];
        if (m->process == process && address >= m->start && address < m->end)
            return m;
    }
    return NULL;
}

struct source sources_find(struct sources *p, u32 process, u64 address)
{
    struct source x = {.module = module_at(p, process, address), .offset = address};
    if (!x.module)
        return x;
    x.offset = address - x.module->start + x.module->offset;
    if (x.module->path[0] == '/') /* others, such as [vdso], are no files */
        x.at = image_find(image_of(p, x.module), x.offset);
    return x;
}

const char *sources_variable(struct sources *p, u32 process, u64 from, u64 to, u64 *end)
{
    const char *name = NULL;
    u64 first = to;
    for (size_t i = p->n_modules; i-- > 0;) {
        const struct trace_module *m = &p->modules[i];
        if (m->process != process || m->path[0] != '/')
            continue;
        struct image_variable x =
            image_variable(image_of(p, m), m->offset, (s64)(from - m->start), (s64)(to - m->start));
        u64 start = MAX(m->start + (u64)x.start, from);
        if (x.name && start < first) {
            name = x.name;
            first = start;
            *end = m->start + (u64)x.end;
        }
    }
    return name;
}

/* Where the kernel puts the first thread's stack: above all files, in the uppermost part of the addresses. */
#define LOWEST_STACK 0x7ff000000000ull

const char *sources_region(struct sources *p, u32 process, u64 address)
{
    bool above = true;
    for (size_t i = p->n_modules; i-- > 0;) {
        const struct trace_module *m = &p->modules[i];
        s64 from = 0, to = (s64)(m->end - m->start);
        if (m->process != process)
            continue;
        if (m->path[0] == '/') {
            image_extent(image_of(p, m), m->offset, &from, &to);
            above &= address >= m->end;
        }
        if ((s64)(address - m->start) >= from && (s64)(address - m->start) < to)
            return source_name(m->path);
    }
    return above && address >= LOWEST_STACK ? "stack" : "heap";
}

const char *source_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
