/* SPDX-License-Identifier: MIT */
/* One file, reported to libdwfl as its only module.
 *
 * There are three kinds of addresses: offsets in the file, which are what a mapping tells; the addresses of its program
 * headers; and those that libdwfl gave the module, which are `bias` more.
 *
 * Symbols are sorted here: libdwfl looks through all of them for each address, 60 us in libc. */
#include "image/image.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A function, or a label in code: the module's addresses start .. end - 1. */
struct symbol {
    u64 start, end;
    const char *name;
    u32 rank;     /* of several names for one place, that with the least is used */
    bool is_open; /* it has no size */
};

enum {
    LARGEST_FUNCTION = 1 << 20 /* bytes; how far back one that holds an address is looked for */
};

struct image {
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias;
    const char *trouble;
    VEC(struct symbol) symbols;   /* ascending */
    VEC(struct symbol) variables; /* ascending */
    struct arena names;
    bool has_symbols; /* they were read */
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

static void read_symbols(struct image *m)
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
        read_symbols(m);
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
static bool address_of(const struct image *m, u64 offset, GElf_Addr *address)
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

struct image_place image_find(struct image *m, u64 offset)
{
    struct image_place p = {0};
    GElf_Addr address;
    int line = 0;
    if (m->trouble || !address_of(m, offset, &address))
        return p;
    p.function = function_at(m, address);
    Dwfl_Line *source = dwfl_module_getsrc(m->module, address);
    if (source)
        p.file = dwfl_lineinfo(source, NULL, &line, NULL, NULL, NULL);
    p.line = p.file ? (u32)line : 0;
    return p;
}

struct image_variable image_variable(struct image *m, u64 offset, s64 from, s64 to)
{
    GElf_Addr at;
    if (m->trouble || !address_of(m, offset, &at))
        return (struct image_variable){0};
    if (!m->has_symbols)
        read_symbols(m);
    for (size_t i = 0; i < m->variables.n; i++) {
        const struct symbol *x = &m->variables.v[i];
        const s64 start = (s64)(x->start - at), end = (s64)(x->end - at);
        if (start < to && end > from)
            return (struct image_variable){x->name, start, end};
    }
    return (struct image_variable){0};
}

void image_extent(struct image *m, u64 offset, s64 *from, s64 *to)
{
    GElf_Addr at;
    size_t n;
    u64 first = UINT64_MAX, end = 0;
    if (m->trouble || !address_of(m, offset, &at) || elf_getphdrnum(m->elf, &n))
        return;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(m->elf, (int)i, &h) || h.p_type != PT_LOAD)
            continue;
        first = MIN(first, h.p_vaddr);
        end = MAX(end, h.p_vaddr + h.p_memsz);
    }
    *from = (s64)(first + m->bias - at);
    *to = (s64)(end + m->bias - at);
}
