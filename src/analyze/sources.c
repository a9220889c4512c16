/* SPDX-License-Identifier: MIT */
/* Files are opened when an address in them is first asked for, and once. */
#include "analyze/sources.h"
#include "image/unwind.h"

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

struct image *sources_image(struct sources *p, u32 process, u64 address, u64 *offset)
{
    const struct trace_module *m = module_at(p, process, address);
    if (!m || m->path[0] != '/') /* others, such as [vdso], are no files */
        return NULL;
    *offset = address - m->start + m->offset;
    return image_of(p, m);
}

struct source sources_find(struct sources *p, u32 process, u64 address)
{
    struct source x = {.module = module_at(p, process, address), .offset = address};
    if (!x.module)
        return x;
    x.offset = address - x.module->start + x.module->offset;
    struct image *image = sources_image(p, process, address, &x.offset);
    if (!image)
        return x;
    x.at = image_find(image, x.offset);
    u64 way = 0;
    x.has_beginning = !x.at.function && image_way_in(image, x.offset, &way);
    x.beginning = x.offset - way;
    return x;
}

const char *source_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
