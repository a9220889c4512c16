/* SPDX-License-Identifier: MIT */
/* The core of a program that died of a fault or a signal holds its own registers, pc and memory, for the thread that
 * died and for the others. */
#include "check.h"
#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <sys/user.h>

/* Die with known values in all registers; the address of the word is in rdi, so that it can be found again. */
extern const char die_here[], die_after_call[];
void die_by_fault(volatile long *word);
void die_by_call(volatile long *word, long pid, long tid, long sig);
void wait_for_ever(void);
asm(".macro PATTERN\n"
    "    mov $0x1111111111111111, %rbx\n"
    "    mov $0x2222222222222222, %rbp\n"
    "    mov $0x3333333333333333, %r8\n"
    "    mov $0x4444444444444444, %r9\n"
    "    mov $0x5555555555555555, %r10\n"
    "    mov $0x6666666666666666, %r11\n"
    "    mov $0x7777777777777777, %r12\n"
    "    mov $0x1888888888888888, %r13\n"
    "    mov $0x1999999999999999, %r14\n"
    "    mov $0x1aaaaaaaaaaaaaaa, %r15\n"
    ".endm\n"
    ".globl die_by_fault, die_by_call, die_here, die_after_call, wait_for_ever, wait_here, "
    "wait_after\n"
    "die_by_fault:\n"
    "    PATTERN\n"
    "    movq $77, (%rdi)\n"
    "    xor %eax, %eax\n"
    "    mov $0x40, %ecx\n"
    "    add %rcx, 1f(%rip)\n" /* something rip-relative first */
    "die_here:\n"
    "    mov %r11, 8(%rax,%rcx,2)\n"
    "    movq $88, (%rdi)\n"
    "    ret\n"
    "die_by_call:\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    mov %rdx, %rsi\n"
    "    mov %rcx, %rdx\n"
    "    PATTERN\n"
    "    movq $77, (%rax)\n"
    "    mov $234, %eax\n"
    "    syscall\n"
    "die_after_call:\n"
    "    ud2\n"
    "wait_for_ever:\n"
    "    PATTERN\n"
    "    movl $1, is_waiting(%rip)\n"
    "    mov $34, %eax\n" /* pause */
    "    syscall\n"
    "    jmp wait_for_ever\n"
    ".data\n"
    "1:  .quad 0\n"
    ".text\n");

static volatile long word = 55;
volatile int is_waiting;

static void *waits(void *arg)
{
    wait_for_ever();
    return arg;
}

static void start_waiter(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, waits, NULL);
    while (!is_waiting)
        sched_yield();
    usleep(50000); /* its call may be on its way through gait */
}

static int faults(void)
{
    is_waiting = 0;
    start_waiter();
    die_by_fault(&word);
    return 1;
}

static int is_sent(void)
{
    is_waiting = 0;
    start_waiter();
    die_by_call(&word, getpid(), gettid(), SIGABRT);
    return 1;
}

/* -- Reading the core ------------------------------------------------------------------------- */

static char *core;
static size_t core_size;

static bool load_core(void)
{
    struct stat st;
    int fd = open("core", O_RDONLY);
    if (fd < 0 || fstat(fd, &st))
        return false;
    core_size = st.st_size;
    core = mmap(NULL, core_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    unlink("core");
    return core != MAP_FAILED && !memcmp(core, ELFMAG, SELFMAG);
}

static const void *core_memory(uintptr_t at)
{
    const Elf64_Ehdr *head = (void *)core;
    const Elf64_Phdr *part = (void *)(core + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++)
        if (part[i].p_type == PT_LOAD && at >= part[i].p_vaddr &&
            at < part[i].p_vaddr + part[i].p_filesz)
            return core + part[i].p_offset + (at - part[i].p_vaddr);
    return NULL;
}

/* The n-th note of a type; NULL if there are fewer. */
static const void *core_note(unsigned type, int n)
{
    const Elf64_Ehdr *head = (void *)core;
    const Elf64_Phdr *part = (void *)(core + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++) {
        if (part[i].p_type != PT_NOTE)
            continue;
        const char *at = core + part[i].p_offset, *end = at + part[i].p_filesz;
        while (at < end) {
            const Elf64_Nhdr *note = (void *)at;
            const char *name = at + sizeof *note, *body = name + ((note->n_namesz + 3) & ~3u);
            if (note->n_type == type && !strcmp(name, "CORE") && n-- == 0)
                return body;
            at = body + ((note->n_descsz + 3) & ~3u);
        }
    }
    return NULL;
}

static void check_pattern(const struct user_regs_struct *reg)
{
    CHECK_IS(reg->rbx, 0x1111111111111111);
    CHECK_IS(reg->rbp, 0x2222222222222222);
    CHECK_IS(reg->r8, 0x3333333333333333);
    CHECK_IS(reg->r9, 0x4444444444444444);
    CHECK_IS(reg->r10, 0x5555555555555555);
    CHECK_IS(reg->r12, 0x7777777777777777);
    CHECK_IS(reg->r13, 0x1888888888888888);
    CHECK_IS(reg->r14, 0x1999999999999999);
    CHECK_IS(reg->r15, 0x1aaaaaaaaaaaaaaa);
}

static void check_core(int sig, const char *pc)
{
    const struct elf_prstatus *dead = core_note(NT_PRSTATUS, 0), *other = core_note(NT_PRSTATUS, 1);
    const siginfo_t *info = core_note(NT_SIGINFO, 0);
    const long *cell = core_memory((uintptr_t)&word);
    if (!dead || !other || !info || !cell) {
        fail("the core lacks something\n");
        return;
    }
    const struct user_regs_struct *reg = (void *)&dead->pr_reg, *sleeping = (void *)&other->pr_reg;
    CHECK_IS(dead->pr_cursig, sig);
    CHECK_IS(info->si_signo, sig);
    CHECK_IS(reg->rip, (long)pc);
    check_pattern(reg);
    CHECK_IS(*cell, 77);
    if (sig == SIGSEGV) {
        CHECK_IS(reg->r11, 0x6666666666666666);
        CHECK_IS(info->si_code, SEGV_MAPERR);
        CHECK_IS(info->si_addr, 0x88);
        CHECK_IS(reg->rcx, 0x40);
        CHECK_IS(reg->rax, 0);
    } else {
        CHECK_IS(reg->rax, 0);
        CHECK_IS(reg->rcx, (long)die_after_call);
    }
    /* The other thread sleeps in a call: where exactly is not asked. */
    CHECK_IS(sleeping->rbx, 0x1111111111111111);
    CHECK_IS(sleeping->rbp, 0x2222222222222222);
    CHECK_IS(sleeping->r12, 0x7777777777777777);
    CHECK_IS(sleeping->r15, 0x1aaaaaaaaaaaaaaa);
    CHECK(!core_note(NT_PRSTATUS, 2)); /* no threads but the program's own */
}

static int dump(int (*run)(void))
{
    pid_t pid = fork_watched();
    if (!pid) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
        _exit(run());
    }
    return status_of(pid);
}

static void clean_up(const char *dir)
{
    unlink("core");
    must(!chdir("/") && !rmdir(dir), "leave the directory");
}

int main(void)
{
    char pattern[256] = "", with_pid[8] = "";
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);
    int fd2 = open("/proc/sys/kernel/core_uses_pid", O_RDONLY);
    struct rlimit limit;
    watchdog(WATCHDOG_SECONDS);
    getrlimit(RLIMIT_CORE, &limit);
    if (read(fd, pattern, 255) < 0 || strcmp(pattern, "core\n") || read(fd2, with_pid, 7) < 0 ||
        *with_pid != '0')
        return skip("core files are not written as plain files");
    if (limit.rlim_max != RLIM_INFINITY)
        return skip("core files are limited");
    char dir[] = "/var/tmp/core-XXXXXX";
    must(mkdtemp(dir) && !chdir(dir), "make a directory");
    int status = dump(faults);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV && WCOREDUMP(status));
    if (load_core())
        check_core(SIGSEGV, die_here);
    else
        fail("no core of the fault\n");
    status = dump(is_sent);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT && WCOREDUMP(status));
    if (load_core())
        check_core(SIGABRT, die_after_call);
    else
        fail("no core of the signal\n");
    clean_up(dir);
    return verdict();
}
