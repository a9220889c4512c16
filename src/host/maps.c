/* SPDX-License-Identifier: MIT */
/* What is mapped in the program, from /proc/PID/maps, and the build ids of the files. */
#include "host/process.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

size_t maps_read(pid_t pid, struct map **out)
{
    VEC(struct map) maps = {0};
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        struct map m = {0};
        unsigned long start, end, offset;
        int n = 0;
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %n", &start, &end, m.perms, &offset, &n) < 4)
            continue;
        m.start = start;
        m.end = end;
        m.offset = offset;
        line[strcspn(line, "\n")] = 0;
        snprintf(m.path, sizeof m.path, "%s", n ? line + n : "");
        vec_push(&maps, m);
    }
    if (f)
        fclose(f);
    *out = maps.v;
    return maps.n;
}

/* -- Build ids -------------------------------------------------------------------------------- */

/* Find the GNU build id among notes, as hex digits. The file is input: every length is checked. */
static bool id_in_notes(const u8 *p, size_t size, char *hex, size_t room)
{
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr h;
        memcpy(&h, p, sizeof h);
        u64 name = ALIGN_UP((u64)h.n_namesz, 4), desc = ALIGN_UP((u64)h.n_descsz, 4);
        if (sizeof h + name + desc > size)
            return false;
        const u8 *id = p + sizeof h + name;
        if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(p + sizeof h, "GNU", 4) &&
            h.n_descsz * 2u < room) {
            for (u32 i = 0; i < h.n_descsz; i++)
                sprintf(hex + 2 * i, "%02x", id[i]);
            return true;
        }
        p += sizeof h + name + desc;
        size -= sizeof h + name + desc;
    }
    return false;
}

static void build_id(const char *path, char *hex, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr h;
    hex[0] = 0;
    if (fd < 0)
        return;
    if (pread(fd, &h, sizeof h, 0) == sizeof h && !memcmp(h.e_ident, ELFMAG, SELFMAG)) {
        for (int i = 0; i < MIN(h.e_phnum, 64); i++) {
            Elf64_Phdr ph;
            u8 notes[1024];
            if (pread(fd, &ph, sizeof ph, (off_t)(h.e_phoff + (u64)i * sizeof ph)) != sizeof ph)
                break;
            if (ph.p_type != PT_NOTE)
                continue;
            ssize_t n = pread(fd, notes, MIN(ph.p_filesz, sizeof notes), (off_t)ph.p_offset);
            if (n > 0 && id_in_notes(notes, (size_t)n, hex, room))
                break;
        }
    }
    close(fd);
}

/* -- Modules ---------------------------------------------------------------------------------- */

static bool is_ours(const struct process *p, const struct map *m)
{
    return (m->start >= p->base && m->start < p->base + WIRE_SIZE) || m->start == p->jump;
}

static bool is_noted(const struct process *p, const struct map *m)
{
    for (size_t i = 0; i < p->modules.n; i++) {
        const struct trace_module *x = &p->modules.v[i];
        if (x->start == m->start && x->end == m->end && x->offset == m->offset &&
            !strcmp(x->path, m->path))
            return true;
    }
    return false;
}

static void note_module(struct process *p, const struct map *m)
{
    char id[80] = "";
    if (!m->path[0] || is_noted(p, m))
        return;
    if (m->path[0] == '/')
        build_id(m->path, id, sizeof id);
    struct trace_module x = {.start = m->start,
                             .end = m->end,
                             .offset = m->offset,
                             .build_id = strdup(id),
                             .path = strdup(m->path)};
    check(x.build_id && x.path);
    vec_push(&p->modules, x);
    select_module(p, &x);
}

static void tell_range(struct process *p, u32 *n, u64 start, u64 end)
{
    if (*n < CODE_RANGES) {
        p->control->code[*n].start = start;
        p->control->code[*n].end = end;
    }
    ++*n;
}

/* Let the guest know which mappings hold code or constants: it tells us of changes there. */
static void tell_guest(struct process *p)
{
    u32 n = 0;
    store_release(&p->control->n_told, CODE_RANGES + 1);
    for (size_t i = 0; i < p->n_maps; i++)
        if (p->maps[i].perms[2] == 'x' && !is_ours(p, &p->maps[i]))
            tell_range(p, &n, p->maps[i].start, p->maps[i].end);
    store_release(&p->control->n_code, n);
    for (size_t i = 0; i < p->constants.n; i++)
        tell_range(p, &n, p->constants.v[i].start, p->constants.v[i].end);
    store_release(&p->control->n_told, n);
}

/* -- Constants -------------------------------------------------------------------------------- */

static bool is_sealed(const struct process *p, u64 start, u64 end)
{
    const struct map *m = maps_find(p, start);
    return m && end <= m->end && !strcmp(m->perms, "r--p");
}

/* What was made read-only is told from then on; what no longer is, is no constant. */
static void constants_note(struct process *p, u64 start, u64 end)
{
    size_t kept = 0;
    struct stretch now = {.start = start, .end = end};
    for (size_t i = 0; i < p->constants.n; i++) {
        struct stretch s = p->constants.v[i];
        if (is_sealed(p, s.start, s.end) && (s.end <= start || end <= s.start))
            p->constants.v[kept++] = s;
    }
    p->constants.n = kept;
    if (start < end && is_sealed(p, start, end))
        vec_push(&p->constants, now);
}

bool maps_constant(const struct process *p, u64 address, u64 *value)
{
    for (size_t i = 0; i < p->constants.n; i++) {
        struct stretch s = p->constants.v[i];
        if (address >= s.start && address + 8 <= s.end)
            return pread(p->mem_fd, value, 8, (off_t)address) == 8;
    }
    return false;
}

void modules_note(struct process *p, u64 start, u64 end)
{
    free(p->maps);
    p->n_maps = maps_read(p->pid, &p->maps);
    constants_note(p, start, end);
    tell_guest(p);
    pthread_mutex_lock(&p->modules_lock);
    for (size_t i = 0; i < p->n_maps; i++)
        if (p->maps[i].perms[2] == 'x' && !is_ours(p, &p->maps[i]))
            note_module(p, &p->maps[i]);
    pthread_mutex_unlock(&p->modules_lock);
    watching_note(p);
}

const struct map *maps_find(const struct process *p, u64 address)
{
    for (size_t i = 0; i < p->n_maps; i++)
        if (address >= p->maps[i].start && address < p->maps[i].end)
            return &p->maps[i];
    return NULL;
}

/* Shared memory can be written through another mapping, here or elsewhere. Private memory that is not
 * writable changes only when the guest tells us, or when somebody writes the file it is of. */
enum code_kind maps_code_kind(const struct process *p, u64 address)
{
    const struct map *m = maps_find(p, address);
    if (!m || m->perms[2] != 'x' || is_ours(p, m))
        return CODE_NONE;
    if (m->perms[1] != 'w' && m->perms[3] != 's')
        return CODE_STABLE;
    return m->perms[0] == 'r' ? CODE_VOLATILE : CODE_NONE; /* its check must be able to read it */
}

int modules_write(struct process *p, struct err *e)
{
    int r = 0;
    pthread_mutex_lock(&p->modules_lock);
    size_t done = p->modules_written, n = p->modules.n;
    if (n > done)
        r = trace_write_modules(&p->run->writer, p->number, p->modules.v + done, n - done, e);
    p->modules_written = n;
    pthread_mutex_unlock(&p->modules_lock);
    return r;
}

static size_t read_modules(void *process, size_t from, struct trace_module *to, size_t room)
{
    struct process *p = process;
    pthread_mutex_lock(&p->modules_lock);
    size_t n = p->modules.n - MIN(p->modules.n, from);
    n = MIN(n, room);
    if (n)
        memcpy(to, p->modules.v + from, n * sizeof *to);
    pthread_mutex_unlock(&p->modules_lock);
    return n;
}

const struct trace_mapped *modules_mapped(struct process *p)
{
    p->mapped = (struct trace_mapped){p, read_modules};
    return &p->mapped;
}

void modules_fini(struct process *p)
{
    for (size_t i = 0; i < p->modules.n; i++) {
        free(p->modules.v[i].build_id);
        free(p->modules.v[i].path);
    }
    vec_fini(&p->modules);
    vec_fini(&p->selected);
    vec_fini(&p->constants);
    free(p->maps);
}
