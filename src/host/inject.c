/* SPDX-License-Identifier: MIT */
/* The guest and the shared pages are mapped into the stopped program by system calls made in its
 * name; then it runs, and no tracing remains. No file descriptor of ours stays in it. */
#include "host/session.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

extern const u8 guest_blob[], guest_blob_end[];

/* -- System calls in the program's name -------------------------------------------------------- */

/* A few bytes of the program's code are replaced for the time of the injection: the instruction, a
 * trap, a name. */
struct remote {
    struct session *s;
    struct user_regs_struct regs;
    u8 saved[32];
};
static const u8 remote_code[32] = "\x0f\x05\xcc\xcc\xcc\xcc\xcc\xccgait";
enum { REMOTE_NAME_AT = 8 };

static int remote_begin(struct remote *m, struct err *e)
{
    pid_t pid = m->s->pid;
    if (ptrace(PTRACE_GETREGS, pid, 0, &m->regs) < 0 ||
        pread(m->s->mem_fd, m->saved, sizeof m->saved, (off_t)m->regs.rip) != sizeof m->saved ||
        pwrite(m->s->mem_fd, remote_code, sizeof remote_code, (off_t)m->regs.rip) !=
            sizeof remote_code)
        return err_set(e, "cannot enter the program: %s", strerror(errno));
    return 0;
}

static int remote_end(struct remote *m, struct err *e)
{
    if (pwrite(m->s->mem_fd, m->saved, sizeof m->saved, (off_t)m->regs.rip) != sizeof m->saved)
        return err_set(e, "cannot leave the program's code as it was: %s", strerror(errno));
    return 0;
}

/* Returns what the kernel returned: a value, or -errno. */
static s64 remote_call(struct remote *m, u64 nr, const u64 a[6])
{
    struct user_regs_struct r = m->regs;
    int status;
    r.rax = nr;
    r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
    r.orig_rax = (unsigned long)-1; /* not in a system call: nothing to restart */
    if (ptrace(PTRACE_SETREGS, m->s->pid, 0, &r) < 0 || ptrace(PTRACE_CONT, m->s->pid, 0, 0) < 0)
        return -errno;
    while (waitpid(m->s->pid, &status, __WALL) < 0)
        if (errno != EINTR)
            return -errno;
    if (!WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, m->s->pid, 0, &r) < 0)
        return -ESRCH;
    return (s64)r.rax;
}

#define REMOTE(m, nr, ...) remote_call(m, nr, (const u64[6]){__VA_ARGS__})

/* -- Addresses -------------------------------------------------------------------------------- */

static bool is_free(const struct map *maps, size_t n, u64 start, u64 size)
{
    for (size_t i = 0; i < n; i++)
        if (maps[i].start < start + size && start < maps[i].end)
            return false;
    return start >= 0x10000;
}

/* Find the executable: the kernel names it in /proc/PID/exe. */
static u64 executable_start(pid_t pid, const struct map *maps, size_t n)
{
    char link[64], exe[256];
    snprintf(link, sizeof link, "/proc/%d/exe", pid);
    ssize_t len = readlink(link, exe, sizeof exe - 1);
    if (len > 0) {
        exe[len] = 0;
        for (size_t i = 0; i < n; i++)
            if (!strcmp(maps[i].path, exe))
                return maps[i].start;
    }
    return n ? maps[0].start : 0;
}

/* The cache must reach the executable's data with 32-bit offsets, must leave room for brk above a
 * fixed-address program, and must stay out of the way of mmap, which fills the space right below a
 * static-pie program. The jump table must lie below 2 GB. */
static int choose_addresses(struct session *s, struct err *e)
{
    struct map *maps;
    size_t n = maps_read(s->pid, &maps);
    u64 exe = executable_start(s->pid, maps, n), step = 0x1000000, tries = 64;
    u64 at = exe > 0x100000000ull ? ALIGN_DOWN(exe - 0x70000000ull, 0x200000) : 0x40000000ull;
    while (tries-- && !is_free(maps, n, at, WIRE_SIZE))
        at += step;
    s->base = is_free(maps, n, at, WIRE_SIZE) ? at : 0;
    s->jump = 0;
    for (u64 j = 0x7f000000; j > 0x10000000 && !s->jump; j -= WIRE_JUMP_AREA) {
        bool clear_of_wire = j + WIRE_JUMP_AREA <= s->base || j >= s->base + WIRE_SIZE;
        if (clear_of_wire && is_free(maps, n, j, WIRE_JUMP_AREA))
            s->jump = j;
    }
    free(maps);
    if (!s->base || !s->jump)
        return err_set(
            e, "cannot enter the program: its address space has no room for the code cache");
    return 0;
}

/* -- The shared pages ------------------------------------------------------------------------- */

struct part {
    u64 offset, size;
    int prot;
};

static const struct part parts[] = {
    {WIRE_GUEST_OFF, WIRE_GUEST_SIZE, PROT_READ | PROT_EXEC},
    {WIRE_CTL_OFF, WIRE_INDEX_OFF - WIRE_CTL_OFF, PROT_READ | PROT_WRITE},
    {WIRE_INDEX_OFF, WIRE_INDEX_SIZE, PROT_READ},
    {WIRE_TARGET_OFF, WIRE_TARGET_SIZE, PROT_READ},
    {WIRE_CACHE_OFF, WIRE_CACHE_SIZE, PROT_READ | PROT_EXEC},
    {WIRE_BUF_OFF, WIRE_BUF_AREA, PROT_READ | PROT_WRITE},
};

static int remote_map(struct remote *m, u64 fd, u64 at, const struct part *p, struct err *e)
{
    s64 r = REMOTE(m, SYS_mmap, at, p->size, (u64)p->prot,
                   MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, fd, p->offset);
    if (r != (s64)at)
        return err_set(e, "cannot map the shared pages into the program: %s", strerror((int)-r));
    REMOTE(m, SYS_madvise, at, p->size, MADV_DONTDUMP);
    return 0;
}

/* Take the program's memfd over to our side and map it here too. */
static int map_here(struct session *s, int remote_fd, struct err *e)
{
    int pidfd = (int)syscall(SYS_pidfd_open, s->pid, 0);
    int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, remote_fd, 0);
    int why = errno;
    if (pidfd >= 0)
        close(pidfd);
    if (fd < 0)
        return err_set(e, "cannot share pages with the program: %s; gait needs Linux 5.6 or newer",
                       strerror(why));
    if (ftruncate(fd, (off_t)WIRE_SIZE) < 0) {
        why = errno;
        close(fd);
        return err_set(e, "cannot share pages with the program: %s", strerror(why));
    }
    s->wire = mmap(NULL, WIRE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    why = errno;
    close(fd);
    if (s->wire == MAP_FAILED) {
        s->wire = NULL;
        return err_set(e, "cannot share pages with the program: %s", strerror(why));
    }
    return 0;
}

static int map_there(struct remote *m, int fd, struct err *e)
{
    struct session *s = m->s;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (remote_map(m, (u64)fd, s->base + parts[i].offset, &parts[i], e) < 0)
            return -1;
    struct part jump = {WIRE_JUMP_OFF, WIRE_JUMP_AREA, PROT_READ | PROT_WRITE};
    return remote_map(m, (u64)fd, s->jump, &jump, e);
}

static int share_pages(struct session *s, struct err *e)
{
    struct remote m = {.s = s};
    if (remote_begin(&m, e) < 0)
        return -1;
    s64 fd = REMOTE(&m, SYS_memfd_create, m.regs.rip + REMOTE_NAME_AT, MFD_CLOEXEC);
    int r = fd < 0 ? err_set(e, "cannot share pages with the program: %s", strerror((int)-fd)) : 0;
    if (r == 0)
        r = map_here(s, (int)fd, e);
    if (r == 0)
        r = map_there(&m, (int)fd, e);
    if (fd >= 0)
        REMOTE(&m, SYS_close, (u64)fd);
    struct err ignored;
    if (remote_end(&m, r == 0 ? e : &ignored) < 0)
        r = -1;
    if (r == 0 && ptrace(PTRACE_SETREGS, s->pid, 0, &m.regs) < 0)
        r = err_set(e, "cannot enter the program: %s", strerror(errno));
    return r;
}

/* -- Contents --------------------------------------------------------------------------------- */

/* The blob begins with a magic word, a version, and the offsets of its entry points. */
static void place_guest(struct session *s)
{
    u32 head[11];
    size_t size = (size_t)(guest_blob_end - guest_blob);
    check(size <= WIRE_GUEST_SIZE);
    memcpy(s->wire + WIRE_GUEST_OFF, guest_blob, size);
    memcpy(head, guest_blob, sizeof head);
    check(!memcmp(guest_blob, "GAITGUST", 8) && head[2] == WIRE_VERSION);
    u64 at = s->base + WIRE_GUEST_OFF;
    s->guest = (struct guest_points){.start = at + head[3],
                                     .exit = at + head[4],
                                     .gate = at + head[5],
                                     .state = at + head[6],
                                     .indirect = at + head[7],
                                     .landing = at + head[8],
                                     .syscall = at + head[9],
                                     .stale = at + head[10]};
}

static void fill_control(struct session *s)
{
    struct control *c = s->control = (struct control *)(s->wire + WIRE_CTL_OFF);
    c->events = s->options->events;
    c->jump = s->jump;
    c->spin = 2000;
    c->buffer_size = s->stress.tinybuf ? BUFFER_SLACK + 8192 : 256 << 10;
    c->window = 16;
    c->drops = s->options->overflow == OVERFLOW_drop;
    s->buffer_size = c->buffer_size;
    c->threads = c->blocks = 1;
    s->n_buffers = (u32)MIN(WIRE_BUF_AREA / c->buffer_size, (u64)BUFFER_COUNT_LIMIT);
    for (u32 i = 0; i < s->n_buffers; i++)
        c->free[i / 64] |= 1ull << (i % 64);
}

/* The first thread starts with the registers the kernel gave it. */
static void fill_thread(struct session *s, const struct user_regs_struct *r)
{
    struct thread *t = session_thread(s, 0);
    const u64 regs[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                          r->r8,  r->r9,  r->r10, 0,      r->r12, r->r13, r->r14, r->r15};
    memcpy(t->regs, regs, sizeof regs);
    t->app_r11 = t->ptr = r->r11;
    t->flags = r->eflags;
    t->pc = r->rip;
    t->self = s->base + WIRE_THREAD_OFF;
    t->app_gs = r->gs_base;
    t->jump_mask = JUMP_MASK;
    t->in_use = t->started = 1;
}

int release_program(struct session *s, struct err *e)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, s->pid, 0, &r) < 0)
        return err_set(e, "cannot enter the program: %s", strerror(errno));
    fill_thread(s, &r);
    r.rip = s->guest.start;
    r.gs_base = session_thread(s, 0)->self;
    r.orig_rax = (unsigned long)-1;
    if (ptrace(PTRACE_SETREGS, s->pid, 0, &r) < 0 || ptrace(PTRACE_DETACH, s->pid, 0, 0) < 0)
        return err_set(e, "cannot let the program run: %s", strerror(errno));
    return 0;
}

int inject(struct session *s, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", s->pid);
    s->mem_fd = open(path, O_RDWR | O_CLOEXEC);
    if (s->mem_fd < 0)
        return err_set(e, "cannot read the program's memory: %s", strerror(errno));
    if (choose_addresses(s, e) < 0 || share_pages(s, e) < 0)
        return -1;
    place_guest(s);
    fill_control(s);
    return 0;
}
