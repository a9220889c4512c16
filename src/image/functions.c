/* SPDX-License-Identifier: MIT */
/* Symbols by libelf alone: whoever traces a program waits for this. */
#include "image/functions.h"

#include <fcntl.h>
#include <gelf.h>
#include <unistd.h>

/* Where in the file an address of its program headers is; false if it is not there. */
static bool offset_of(Elf *elf, u64 address, u64 *offset)
{
    size_t n;
    if (elf_getphdrnum(elf, &n))
        return false;
    for (size_t i = 0; i < n; i++) {
        GElf_Phdr h;
        if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD || address < h.p_vaddr ||
            address - h.p_vaddr >= h.p_filesz)
            continue;
        *offset = address - h.p_vaddr + h.p_offset;
        return true;
    }
    return false;
}

static void tell_section(Elf *elf, Elf_Scn *section, const GElf_Shdr *h,
                         void (*each)(void *ctx, const char *name, u64 offset), void *ctx)
{
    Elf_Data *data = elf_getdata(section, NULL);
    const u64 n = data && h->sh_entsize ? h->sh_size / h->sh_entsize : 0;
    for (u64 i = 0; i < n; i++) {
        GElf_Sym x;
        u64 offset;
        if (!gelf_getsym(data, (int)i, &x) || GELF_ST_TYPE(x.st_info) != STT_FUNC ||
            x.st_shndx == SHN_UNDEF)
            continue;
        const char *name = elf_strptr(elf, h->sh_link, x.st_name);
        if (name && offset_of(elf, x.st_value, &offset))
            each(ctx, name, offset);
    }
}

void image_functions(const char *path, void (*each)(void *ctx, const char *name, u64 offset),
                     void *ctx)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    elf_version(EV_CURRENT);
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    for (Elf_Scn *s = NULL; elf && (s = elf_nextscn(elf, s));) {
        GElf_Shdr h;
        if (gelf_getshdr(s, &h) && (h.sh_type == SHT_SYMTAB || h.sh_type == SHT_DYNSYM))
            tell_section(elf, s, &h, each, ctx);
    }
    if (elf)
        elf_end(elf);
    if (fd >= 0)
        close(fd);
}
