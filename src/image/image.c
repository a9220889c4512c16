/* SPDX-License-Identifier: MIT */
/* One file, reported to libdwfl as its only module.
 *
 * There are three kinds of addresses: offsets in the file, which are what a mapping tells; the addresses of its program
 * headers; and those that libdwfl gave the module, which are `bias` more.
 *
 * Symbols are sorted here: libdwfl looks through all of them for each address, 60 us in libc. */
#include "base/err.h"
#include "image/image_private.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LARGEST_FUNCTION = 1 << 20 /* bytes; how far back one that holds an address is looked for */
};

/* -- Opening ----------------------------------------------------------------------------------- */

/* A name may lead to anything: what is no file is not waited for. */
static int open_file(const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && (fstat(fd, &s) || !S_ISREG(s.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static bool report(struct image *m, const char *path, int fd)
{
    static char *debug_path;
    static const Dwfl_Callbacks callbacks = {.find_debuginfo = dwfl_standard_find_debuginfo,
                                             .section_address = dwfl_offline_section_address,
                                             .debuginfo_path = &debug_path};
    m->dwfl = dwfl_begin(&callbacks);
    check(m->dwfl != NULL);
    m->module = dwfl_report_offline(m->dwfl, "", path, fd);
    if (!m->module)
        return false;
    dwfl_report_end(m->dwfl, NULL, NULL);
    m->elf = dwfl_module_getelf(m->module, &m->bias);
    return m->elf != NULL;
}

static bool has_build_id(const struct image *m, const char *wanted)
{
    const unsigned char *bytes;
    GElf_Addr at;
    int n = dwfl_module_build_id(m->module, &bytes, &at);
    if (!wanted[0])
        return true;
    if (n <= 0 || strlen(wanted) != 2ul * (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        char hex[3];
        snprintf(hex, sizeof hex, "%02x", bytes[i]);
        if (memcmp(hex, wanted + 2 * i, 2))
            return false;
    }
    return true;
}

struct image *image_open(const char *path, const char *build_id)
{
    struct image *m = calloc(1, sizeof *m);
    check(m != NULL);
    m->path = path;
    int fd = open_file(path);
    if (fd < 0) {
        m->trouble = "cannot be opened";
    } else if (!report(m, path, fd)) {
        m->trouble = "is no file that libdw can read";
        if (!m->module)
            close(fd);
    } else if (!has_build_id(m, build_id)) {
        m->trouble = "is not the file that was traced: its build id is another";
    }
    return m;
}

const char *image_trouble(const struct image *m)
{
    return m->trouble;
}

void image_close(struct image *m)
{
    data_free(m->data);
    if (m->dwfl)
        dwfl_end(m->dwfl);
    vec_fini(&m->symbols);
    vec_fini(&m->variables);
    arena_fini(&m->names);
    free(m);
}

/* -- Symbols ----------------------------------------------------------------------------------- */

/* Where a section of code ends; 0 if it is none. */
static u64 end_of_code(Elf *elf, GElf_Word section)
{
    GElf_Shdr h;
    Elf_Scn *s = elf_getscn(elf, section);
    return s && gelf_getshdr(s, &h) && h.sh_flags & SHF_EXECINSTR ? h.sh_addr + h.sh_size : 0;
}

static u32 rank_of(const GElf_Sym *x)
{
    u8 type = GELF_ST_TYPE(x->st_info), bind = GELF_ST_BIND(x->st_info);
    return 4u * (type == STT_NOTYPE) + (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2);
}

/* A name without its version. */
static const char *keep_name(struct image *m, const char *name)
{
    size_t n = strcspn(name, "@");
    char *copy = arena_alloc(&m->names, n + 1);
    memcpy(copy, name, n);
    copy[n] = 0;
    return copy;
}

static bool may_be_function(const GElf_Sym *x)
{
    u8 type = GELF_ST_TYPE(x->st_info);
    return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

static void add_symbol(struct image *m, int i)
{
    GElf_Sym x;
    GElf_Addr start, bias;
    GElf_Word section;
    Elf *elf;
    const char *name = dwfl_module_getsym_info(m->module, i, &x, &start, &section, &elf, &bias);
    if (!name || !name[0] || section == SHN_UNDEF)
        return;
    if (GELF_ST_TYPE(x.st_info) == STT_OBJECT && x.st_size)
        vec_push(&m->variables, ((struct symbol){start, start + x.st_size, keep_name(m, name),
                                                 rank_of(&x), false}));
    if (!may_be_function(&x))
        return;
    u64 end = end_of_code(elf, section);
    if (end)
        vec_push(&m->symbols, ((struct symbol){start, x.st_size ? start + x.st_size : end + bias,
                                               keep_name(m, name), rank_of(&x), !x.st_size}));
}

static int by_start(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->rank != y->rank ? (x->rank < y->rank ? -1 : 1) : strcmp(x->name, y->name);
}

/* A symbol without a size ends where the next one starts, or with its section. */
static void find_ends(struct image *m)
{
    u64 next = UINT64_MAX;
    for (size_t i = m->symbols.n; i-- > 0;) {
        struct symbol *x = &m->symbols.v[i];
        if (i + 1 < m->symbols.n && x[1].start != x->start)
            next = x[1].start;
        if (x->is_open)
            x->end = MIN(x->end, next);
    }
}

void image_read_symbols(struct image *m)
{
    int n = dwfl_module_getsymtab(m->module);
    for (int i = 0; i < n; i++)
        add_symbol(m, i);
    if (m->symbols.n)
        qsort(m->symbols.v, m->symbols.n, sizeof *m->symbols.v, by_start);
    if (m->variables.n)
        qsort(m->variables.v, m->variables.n, sizeof *m->variables.v, by_start);
    find_ends(m);
    m->has_symbols = true;
}

/* How many symbols start at the address or before it. */
static size_t symbols_up_to(const struct image *m, u64 address)
{
    size_t from = 0, to = m->symbols.n;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (m->symbols.v[middle].start <= address)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* The function around an address: one that starts latest; of those, the one with the best name. */
static const char *function_at(struct image *m, u64 address)
{
    if (!m->has_symbols)
        image_read_symbols(m);
    const struct symbol *v = m->symbols.v, *best = NULL;
    for (size_t i = symbols_up_to(m, address); i-- > 0;) {
        if (best && v[i].start != best->start)
            break;
        if (v[i].end > address)
            best = &v[i];
        else if (!best && v[i].start + LARGEST_FUNCTION < address)
            break;
    }
    return best ? best->name : NULL;
}

/* -- Finding ----------------------------------------------------------------------------------- */

/* The module's address of what stands at an offset of the file; false if that is not mapped. */
bool image_address(const struct image *m, u64 offset, u64 *address)
{
    size_t n;
    if (elf_getphdrnum(m->elf, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(m->elf, (int)i, &h) || h.p_type != PT_LOAD || offset < h.p_offset ||
            offset - h.p_offset >= h.p_filesz)
            continue;
        *address = h.p_vaddr + (offset - h.p_offset) + m->bias;
        return true;
    }
    return false;
}

static struct image_place place_at(struct image *m, GElf_Addr address)
{
    struct image_place p = {.function = function_at(m, address)};
    int line = 0;
    Dwfl_Line *source = dwfl_module_getsrc(m->module, address);
    if (source)
        p.file = dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL);
    p.line = p.file ? (u32)line : 0;
    return p;
}

struct image_place image_find(struct image *m, u64 offset)
{
    u64 address;
    if (m->trouble || !image_address(m, offset, &address))
        return (struct image_place){0};
    return place_at(m, address);
}

struct image_place image_place(struct image *m, u64 address)
{
    return m->trouble ? (struct image_place){0} : place_at(m, address + m->bias);
}

bool image_span(const struct image *m, u64 *start, u64 *end)
{
    size_t n;
    *start = UINT64_MAX;
    *end = 0;
    if (m->trouble || elf_getphdrnum(m->elf, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(m->elf, (int)i, &h) || h.p_type != PT_LOAD)
            continue;
        *start = MIN(*start, h.p_vaddr);
        *end = MAX(*end, h.p_vaddr + h.p_memsz);
    }
    return *start < *end;
}

bool image_vaddr(const struct image *m, u64 offset, u64 *address)
{
    if (m->trouble || !image_address(m, offset, address))
        return false;
    *address -= m->bias;
    return true;
}

/* -- Selecting --------------------------------------------------------------------------------- */

/* The file's offset of what the module has at an address; false if that is not in the file. */
static bool offset_of(const struct image *m, GElf_Addr address, u64 *offset)
{
    size_t n;
    if (elf_getphdrnum(m->elf, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(m->elf, (int)i, &h) || h.p_type != PT_LOAD ||
            address - m->bias - h.p_vaddr >= h.p_filesz)
            continue;
        *offset = address - m->bias - h.p_vaddr + h.p_offset;
        return true;
    }
    return false;
}

void image_match(struct image *m, const char *pattern, image_sight *see, void *ctx)
{
    if (m->trouble)
        return;
    if (!m->has_symbols)
        image_read_symbols(m);
    const struct symbol *last = NULL;
    for (size_t i = 0; i < m->symbols.n; i++) {
        const struct symbol *x = &m->symbols.v[i];
        u64 offset;
        if (fnmatch(pattern, x->name, 0) || (last && last->start == x->start) ||
            !offset_of(m, x->start, &offset))
            continue;
        see(ctx, x->name, offset, x->end - x->start);
        last = x;
    }
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && !strcmp(path + n - k, end) && (n == k || end[0] == '/' || path[n - k - 1] == '/');
}

static void see_lines(struct image *m, Dwarf_Die *unit, Dwarf_Addr bias, const char *file, u32 from,
                      u32 to, image_sight *see, void *ctx)
{
    Dwarf_Lines *lines;
    size_t n;
    if (dwarf_getsrclines(unit, &lines, &n))
        return;
    for (size_t i = 0; i + 1 < n; i++) {
        Dwarf_Line *x = dwarf_onesrcline(lines, i), *next = dwarf_onesrcline(lines, i + 1);
        const char *path = dwarf_linesrc(x, NULL, NULL);
        Dwarf_Addr start, end;
        int line = 0;
        bool is_last = false;
        u64 offset;
        dwarf_lineno(x, &line);
        dwarf_lineendsequence(x, &is_last);
        if (is_last || !path || line < 0 || (u32)line < from || (u32)line > to || !ends_with(path, file) ||
            dwarf_lineaddr(x, &start) || dwarf_lineaddr(next, &end) || end <= start ||
            !offset_of(m, start + bias, &offset))
            continue;
        see(ctx, path, offset, end - start);
    }
}

void image_lines(struct image *m, const char *file, u32 from, u32 to, image_sight *see, void *ctx)
{
    Dwarf_Die *unit = NULL;
    Dwarf_Addr bias;
    while (!m->trouble && (unit = dwfl_module_nextcu(m->module, unit, &bias)))
        see_lines(m, unit, bias, file, from, to, see, ctx);
}
