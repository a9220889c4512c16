/* SPDX-License-Identifier: MIT */
/* From a command line to a program stopped at its first instruction, or a sentence that says why
 * not.
 *
 * The kernel does the execve itself, so layout, auxv, brk, vdso and /proc/self/exe are its own. */
#include "host/process.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- Can it run? ------------------------------------------------------------------------------ */

/* Search PATH as execvp does, so that errors can be told before anything is started. */
static int find_program(const char *name, char path[PATH_MAX], struct err *e)
{
    if (strchr(name, '/')) {
        if (strlen(name) >= PATH_MAX)
            return err_set(e, "cannot run the program: its path is longer than %d bytes", PATH_MAX);
        strcpy(path, name);
        return 0;
    }
    const char *dirs = getenv("PATH");
    for (const char *d = dirs ? dirs : "/usr/bin:/bin"; name[0];) {
        size_t n = strcspn(d, ":");
        if (n + strlen(name) + 2 < PATH_MAX) {
            int len = n ? (int)n : 1;
            snprintf(path, PATH_MAX, "%.*s/%s", len, n ? d : ".", name);
            struct stat st;
            if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0)
                return 0;
        }
        if (!d[n])
            break;
        d += n + 1;
    }
    return err_set(e, "cannot run %s: no such program in PATH; give its path, or install it", name);
}

/* The loadable parts an ELF header promises must be in the file. */
static bool is_truncated(int fd, const Elf64_Ehdr *h, u64 size)
{
    for (int i = 0; i < h->e_phnum; i++) {
        Elf64_Phdr ph;
        if (pread(fd, &ph, sizeof ph, (off_t)(h->e_phoff + (u64)i * h->e_phentsize)) != sizeof ph)
            return true;
        if (ph.p_type == PT_LOAD && (ph.p_offset > size || ph.p_filesz > size - ph.p_offset))
            return true;
    }
    return false;
}

static int check_elf(const char *path, int fd, u64 size, struct err *e)
{
    Elf64_Ehdr h = {0};
    ssize_t n = pread(fd, &h, sizeof h, 0);
    if (n < SELFMAG || memcmp(h.e_ident, ELFMAG, SELFMAG))
        return 0; /* perhaps a script: the kernel knows */
    if (n > EI_CLASS && h.e_ident[EI_CLASS] == ELFCLASS32)
        return err_set(e,
                       "cannot run %s: it is a 32-bit program, and gait traces 64-bit ones; use "
                       "its 64-bit build",
                       path);
    if (n < (ssize_t)sizeof h || is_truncated(fd, &h, size))
        return err_set(e, "cannot run %s: the ELF file is truncated; build or copy it again", path);
    if (h.e_machine != EM_X86_64)
        return err_set(e, "cannot run %s: it is not a program for x86-64 processors", path);
    return 0;
}

static int check_program(const char *path, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return err_set(e, "cannot run %s: %s; check the path", path, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return err_set(e, "cannot run %s: it is a directory; name a program in it", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, "cannot run %s: it is not a regular file", path);
    if (access(path, X_OK) < 0)
        return err_set(e, "cannot run %s: %s; make it executable with chmod +x", path,
                       strerror(errno));
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0; /* executable but not readable: the kernel may still run it */
    int r = check_elf(path, fd, (u64)st.st_size, e);
    close(fd);
    return r;
}

/* -- The child -------------------------------------------------------------------------------- */

static _Noreturn void child(const struct run *r, const char *path, int go, int report)
{
    char byte;
    /* Wait until we are traced; if the parent is gone, so are we. */
    while (read(go, &byte, 1) < 0 && errno == EINTR)
        ;
    sigaction(SIGCHLD, &r->old_child, NULL);
    sigprocmask(SIG_SETMASK, &r->old_mask, NULL);
    follow_restore_limits(r);
    execv(path, r->options->argv);
    int why = errno;
    if (write(report, &why, sizeof why) < 0)
        _exit(126);
    _exit(127);
}

/* Wait for one stop of the child; its status, or -1 if it is gone. */
static int wait_stop(pid_t pid)
{
    int status;
    while (waitpid(pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return -1;
    return status;
}

int start_finish_exec(pid_t pid, struct err *e)
{
    if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0 || wait_stop(pid) >> 8 != (SIGTRAP | 0x80))
        return err_set(e, "it did not reach its first instruction");
    return 0;
}

/* Let it run into execve and through to the end of that call. */
static int reach_exec(pid_t pid, const char *path, int report, struct err *e)
{
    for (int status;;) {
        status = wait_stop(pid);
        int why;
        if (status < 0 || WIFEXITED(status) || WIFSIGNALED(status)) {
            if (read(report, &why, sizeof why) == sizeof why)
                return err_set(e, "cannot run %s: %s", path, strerror(why));
            return err_set(e, "cannot run %s: the kernel ended it while loading it", path);
        }
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            break;
        ptrace(PTRACE_CONT, pid, 0, 0);
    }
    struct err why;
    if (start_finish_exec(pid, &why) < 0)
        return err_set(e, "cannot run %s: %s", path, why.text);
    return 0;
}

/* 32-bit code has another code segment; x32 has not, but its files are of the 32-bit class. */
enum trace_untraced start_image_fault(pid_t pid)
{
    struct user_regs_struct r;
    char path[64];
    u8 ident[EI_NIDENT];
    if (ptrace(PTRACE_GETREGS, pid, 0, &r) < 0)
        return TRACE_UNTRACED_closed;
    if (r.cs != 0x33)
        return TRACE_UNTRACED_bits;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return TRACE_UNTRACED_no; /* it may be executed and not read: the rest will tell */
    ssize_t n = pread(fd, ident, sizeof ident, 0);
    close(fd);
    bool is_32 = n == sizeof ident && ident[EI_CLASS] == ELFCLASS32;
    return is_32 ? TRACE_UNTRACED_bits : TRACE_UNTRACED_no;
}

static int check_image(pid_t pid, const char *path, struct err *e)
{
    switch (start_image_fault(pid)) {
    case TRACE_UNTRACED_no:
        return 0;
    case TRACE_UNTRACED_bits:
        return err_set(e,
                       "cannot run %s: it is a 32-bit program, and gait traces 64-bit ones; use "
                       "its 64-bit build",
                       path);
    default:
        return err_set(e, "cannot run %s: %s", path, strerror(errno));
    }
}

static int seize(pid_t pid, int go, struct err *e)
{
    long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SEIZE, pid, 0, options) < 0)
        return err_set(
            e, "cannot trace the program: %s; if kernel.yama.ptrace_scope is 2 or 3, lower it",
            strerror(errno));
    if (write(go, "", 1) != 1)
        return err_set(e, "cannot start the program: %s", strerror(errno));
    return 0;
}

int start_program(struct process *p, struct err *e)
{
    char path[PATH_MAX];
    int go[2], report[2];
    if (find_program(p->run->options->argv[0], path, e) < 0 || check_program(path, e) < 0)
        return -1;
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_set(e, "cannot start the program: %s", strerror(errno));
    if (pipe2(report, O_CLOEXEC) < 0) {
        close(go[0]);
        close(go[1]);
        return err_set(e, "cannot start the program: %s", strerror(errno));
    }
    pid_t pid = p->pid = fork();
    if (pid == 0) {
        close(go[1]);
        child(p->run, path, go[0], report[1]);
    }
    close(go[0]);
    close(report[1]);
    int r = pid < 0 ? err_set(e, "cannot start the program: %s", strerror(errno)) : 0;
    if (r == 0)
        r = seize(pid, go[1], e);
    close(go[1]);
    if (r == 0)
        r = reach_exec(pid, path, report[0], e);
    if (r == 0)
        r = check_image(pid, path, e);
    close(report[0]);
    if (r < 0 && pid > 0) {
        kill(pid, SIGKILL);
        while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
            ;
    }
    return r;
}
