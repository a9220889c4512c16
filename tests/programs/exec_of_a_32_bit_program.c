/* SPDX-License-Identifier: MIT */
/* A program of 32 bits started by one of 64 runs, prints, and gives its status; before and after it everything is as
 * usual. */
/* untraced: programs of 32 bits run natively */
#include "check.h"
#include <elf.h>

/* write(1, text, n); exit(42), in 32 bits. */
static int make_program(void)
{
    static const unsigned char code[] = {
        0xb8, 4,    0, 0, 0, /* mov eax, 4 */
        0xbb, 1,    0, 0, 0, /* mov ebx, 1 */
        0xb9, 0,    0, 0, 0, /* mov ecx, text */
        0xba, 21,   0, 0, 0, /* mov edx, 21 */
        0xcd, 0x80,          /* int 0x80 */
        0xb8, 1,    0, 0, 0, /* mov eax, 1 */
        0xbb, 42,   0, 0, 0, /* mov ebx, 42 */
        0xcd, 0x80,
    };
    static const char text[] = "from 32 bits of code\n";
    struct {
        Elf32_Ehdr head;
        Elf32_Phdr part;
        unsigned char code[sizeof code];
        char text[21];
    } __attribute__((packed)) image = {0};
    const uint32_t base = 0x08048000;
    memcpy(image.head.e_ident, ELFMAG "\1\1\1", 7);
    image.head.e_type = ET_EXEC;
    image.head.e_machine = EM_386;
    image.head.e_version = 1;
    image.head.e_entry = base + offsetof(__typeof__(image), code);
    image.head.e_phoff = sizeof image.head;
    image.head.e_ehsize = sizeof image.head;
    image.head.e_phentsize = sizeof image.part;
    image.head.e_phnum = 1;
    image.part.p_type = PT_LOAD;
    image.part.p_vaddr = image.part.p_paddr = base;
    image.part.p_filesz = image.part.p_memsz = sizeof image;
    image.part.p_flags = PF_R | PF_X;
    image.part.p_align = 4096;
    memcpy(image.code, code, sizeof code);
    memcpy(image.code + 11, &(uint32_t){base + offsetof(__typeof__(image), text)}, 4);
    memcpy(image.text, text, 21);
    int fd = memfd_create("small", MFD_CLOEXEC);
    must(fd >= 0 && write(fd, &image, sizeof image) == sizeof image, "make the program");
    return fd;
}

static int fd;

static int become_small(void)
{
    fexecve(fd, (char *[]){"small", NULL}, (char *[]){NULL});
    return errno == ENOEXEC ? 77 : 78;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    fd = make_program();
    for (int i = 0; i < 5; i++) {
        int status = status_in_child(become_small);
        if (status == 77 << 8)
            return skip("the kernel runs no programs of 32 bits");
        CHECK_IS(status, 42 << 8);
    }
    return verdict();
}
