/* SPDX-License-Identifier: MIT */
/* What a program can learn of its own start: auxiliary vector, mappings, heap, stack, arguments, environment; all as the
 * kernel made it for this very program. */
#include "check.h"
#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/auxv.h>

extern char **environ;
extern char _start[], __executable_start[], end[];

static struct {
    uintptr_t from, to;
    char prot[5], name[200];
} maps[400];
static int map_count;

static void read_maps(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[600];
    must(f != NULL, "read the mappings");
    map_count = 0;
    while (map_count < 400 && fgets(line, sizeof line, f)) {
        maps[map_count].name[0] = 0;
        if (sscanf(line, "%lx-%lx %4s %*s %*s %*s %199s", &maps[map_count].from,
                   &maps[map_count].to, maps[map_count].prot, maps[map_count].name) >= 3)
            map_count++;
    }
    fclose(f);
}

static int map_of(const void *p)
{
    for (int i = 0; i < map_count; i++)
        if ((uintptr_t)p >= maps[i].from && (uintptr_t)p < maps[i].to)
            return i;
    return -1;
}

static const char *map_name(const void *p)
{
    int i = map_of(p);
    return i < 0 ? "nowhere" : maps[i].name;
}

static const char *map_prot(const void *p)
{
    int i = map_of(p);
    return i < 0 ? "----" : maps[i].prot;
}

static void auxiliary(char **argv)
{
    char **env = environ;
    while (*env)
        env++;
    const ElfW(auxv_t) *aux = (void *)(env + 1);
    unsigned long capabilities = 0; /* getauxval tells another word */
    say("keys:");
    for (; aux->a_type != AT_NULL; aux++) {
        say(" %ld", (long)aux->a_type);
        if (aux->a_type == AT_HWCAP)
            capabilities = aux->a_un.a_val;
    }
    say("\n");
    unsigned a, b, c, d;
    __cpuid(1, a, b, c, d);
    const ElfW(Ehdr) *vdso = (void *)getauxval(AT_SYSINFO_EHDR), *self = (void *)__executable_start;
    CHECK(!memcmp(vdso, ELFMAG, SELFMAG));
    CHECK(!strcmp(map_name(vdso), "[vdso]"));
    CHECK(!memcmp(self, ELFMAG, SELFMAG));
    CHECK_IS(capabilities, d);
    CHECK_IS(getauxval(AT_PAGESZ), PAGE);
    CHECK_IS(getauxval(AT_CLKTCK), sysconf(_SC_CLK_TCK));
    CHECK_IS(getauxval(AT_PHDR), (long)self + self->e_phoff);
    CHECK_IS(getauxval(AT_PHENT), sizeof(ElfW(Phdr)));
    CHECK_IS(getauxval(AT_PHNUM), self->e_phnum);
    CHECK_IS(getauxval(AT_ENTRY), (long)_start);
    CHECK_IS(getauxval(AT_FLAGS), 0);
    CHECK_IS(getauxval(AT_UID), getuid());
    CHECK_IS(getauxval(AT_EGID), getegid());
    CHECK_IS(getauxval(AT_SECURE), 0);
    CHECK(!strcmp((char *)getauxval(AT_PLATFORM), "x86_64"));
    CHECK(!strcmp((char *)getauxval(AT_EXECFN), argv[0]));
    CHECK(!strcmp(map_name((void *)getauxval(AT_RANDOM)), "[stack]"));
    CHECK(strstr(map_name((void *)getauxval(AT_BASE)), "ld-linux") != NULL);
}

/* Where things are, as the kernel lays them out. */
static void layout(char **argv)
{
    char exe[300] = {0};
    int local;
    CHECK(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    CHECK(!strcmp(map_name(_start), exe));
    CHECK(!strcmp(map_name(__executable_start), exe));
    CHECK(!strcmp(map_prot(_start), "r-xp"));
    CHECK(!strcmp(map_prot(__executable_start), "r--p"));
    CHECK(!strcmp(map_prot(&environ), "rw-p"));
    CHECK(!strcmp(map_name(&local), "[stack]"));
    CHECK(!strcmp(map_name(argv), "[stack]"));
    CHECK(!strcmp(map_name(argv[0]), "[stack]"));
    CHECK(!strcmp(map_prot(&local), "rw-p"));
    CHECK(strstr(map_name((void *)(uintptr_t)qsort), "libc.so") != NULL);
    CHECK(!strcmp(map_prot((void *)(uintptr_t)qsort), "r-xp"));
    /* The heap begins behind the program and can grow. */
    char *heap = sbrk(PAGE);
    read_maps();
    CHECK(heap > end);
    CHECK(!strcmp(map_name(heap), "[heap]"));
    CHECK(heap - end < (1l << 35)); /* as far as randomisation goes */
    CHECK(sbrk(1000 * PAGE) != (void *)-1);
    sbrk(-1001 * PAGE);
    /* No page is both written and run, and the program's own ones come first and once. */
    int count = 0, first = map_of(__executable_start);
    for (int i = 0; i < map_count; i++)
        count += !strcmp(maps[i].name, exe);
    for (int i = first; i < first + count; i++)
        CHECK(!strcmp(maps[i].name, exe));
    say("%d parts of the program\n", count);
}

static void arguments(int argc, char **argv)
{
    char text[8192];
    int fd = open("/proc/self/cmdline", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text), at = 0;
    close(fd);
    for (int i = 0; i < argc; i++) {
        CHECK(at < n && !strcmp(text + at, argv[i]));
        at += strlen(argv[i]) + 1;
    }
    CHECK_IS(at, n);
    CHECK(!strcmp(program_invocation_name, argv[0]));
    CHECK(argv[argc] == NULL);
}

int main(int argc, char **argv)
{
    watchdog(WATCHDOG_SECONDS);
    read_maps();
    auxiliary(argv);
    layout(argv);
    arguments(argc, argv);
    return verdict();
}
