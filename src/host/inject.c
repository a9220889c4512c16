/* SPDX-License-Identifier: MIT */
/* The guest and the shared pages are mapped into the stopped program by system calls made in its
 * name; then it runs, and no tracing remains. No file descriptor of ours stays in it. */
#include "host/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

extern const u8 guest_blob[], guest_blob_end[];

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
static int choose_addresses(struct process *p, struct err *e)
{
    struct map *maps;
    size_t n = maps_read(p->pid, &maps);
    u64 exe = executable_start(p->pid, maps, n), step = 0x1000000, tries = 64;
    u64 at = exe > 0x100000000ull ? ALIGN_DOWN(exe - 0x70000000ull, 0x200000) : 0x40000000ull;
    while (tries-- && !is_free(maps, n, at, WIRE_SIZE))
        at += step;
    p->base = is_free(maps, n, at, WIRE_SIZE) ? at : 0;
    p->jump = 0;
    /* Out of the second GB, where MAP_32BIT maps, unless the cache itself is there. */
    for (u64 j = (p->base > 0x80000000 ? 0x40000000 : 0x80000000) - WIRE_JUMP_AREA; j > 0x10000000 && !p->jump;
         j -= WIRE_JUMP_AREA) {
        bool clear_of_wire = j + WIRE_JUMP_AREA <= p->base || j >= p->base + WIRE_SIZE;
        if (clear_of_wire && is_free(maps, n, j, WIRE_JUMP_AREA))
            p->jump = j;
    }
    p->near = exe > 0x100000000ull ? exe - 0x1000000 : p->base + WIRE_CACHE_OFF + 0x7fe00000;
    free(maps);
    if (!p->base || !p->jump)
        return err_set(
            e, "cannot enter the program: its address space has no room for the code cache");
    return 0;
}

/* Who wants addresses that are the same in every run gets those of a run without us. */
static bool has_fixed_addresses(pid_t pid)
{
    char path[64], text[16] = "";
    snprintf(path, sizeof path, "/proc/%d/personality", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0)
        text[0] = 0;
    if (fd >= 0)
        close(fd);
    return strtoul(text, NULL, 16) & ADDR_NO_RANDOMIZE;
}

/* -- The shared pages ------------------------------------------------------------------------- */

struct part {
    u64 offset, size;
    int prot;
};

static const struct part parts[] = {
#define MAPPED(offset, size, prot) {offset, size, prot},
    WIRE_PARTS(MAPPED)
#undef MAPPED
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

/* Take the program's memfd over to our side. */
static int take_pages(struct process *p, int remote_fd, struct err *e)
{
    p->pid_fd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    int fd = p->pid_fd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, p->pid_fd, remote_fd, 0);
    if (fd < 0)
        return err_set(e, "cannot share pages with the program: %s; gait needs Linux 5.6 or newer",
                       strerror(errno));
    return fd;
}

/* Which file it is, a forked child says itself: nothing but a fresh memfd is to be resized. */
static bool is_fresh(int fd)
{
    char link[64], name[64] = "";
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return readlink(link, name, sizeof name - 1) > 0 && !strncmp(name, "/memfd:gait", 11) &&
           fstat(fd, &st) == 0 && st.st_size == 0;
}

/* Map the pages here, behind a page of our own; takes the fd. */
static int map_here(struct process *p, int fd, struct err *e)
{
    int why = 0;
    u8 *at = MAP_FAILED;
    if (!is_fresh(fd))
        why = EBADF;
    else if (ftruncate(fd, (off_t)WIRE_SIZE) == 0)
        at = mmap(NULL, WIRE_NODE_ROOM + WIRE_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at != MAP_FAILED) {
        p->wire = at + WIRE_NODE_ROOM;
        at = mmap(p->wire, WIRE_SIZE, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
    }
    why = why ? why : errno;
    close(fd);
    return at == MAP_FAILED ? err_set(e, "cannot share pages with the program: %s", strerror(why))
                            : 0;
}

static int map_there(struct process *p, struct remote *m, int fd, struct err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (remote_map(m, (u64)fd, p->base + parts[i].offset, &parts[i], e) < 0)
            return -1;
    struct part jump = {WIRE_JUMP_OFF, WIRE_JUMP_AREA, PROT_READ | PROT_WRITE};
    return remote_map(m, (u64)fd, p->jump, &jump, e);
}

static int share_pages(struct process *p, struct err *e)
{
    struct remote m = {.pid = p->pid, .mem_fd = p->mem_fd};
    if (remote_begin(&m, e) < 0)
        return -1;
    s64 fd = REMOTE(&m, SYS_memfd_create, m.regs.rip + REMOTE_NAME_AT, MFD_CLOEXEC);
    int r = fd < 0 ? err_set(e, "cannot share pages with the program: %s", strerror((int)-fd))
                   : take_pages(p, (int)fd, e);
    if (r >= 0)
        r = map_here(p, r, e);
    if (r == 0)
        r = map_there(p, &m, (int)fd, e);
    if (fd >= 0)
        REMOTE(&m, SYS_close, (u64)fd);
    struct err ignored;
    return remote_end(&m, r == 0 ? e : &ignored) < 0 ? -1 : r;
}

/* -- Contents --------------------------------------------------------------------------------- */

/* The blob begins with a magic word, a version, and the offsets of its entry points. */
static void place_guest(struct process *p)
{
    u32 head[14];
    size_t size = (size_t)(guest_blob_end - guest_blob);
    check(size <= WIRE_GUEST_SIZE);
    memcpy(p->wire + WIRE_GUEST_OFF, guest_blob, size);
    memcpy(head, guest_blob, sizeof head);
    check(!memcmp(guest_blob, "GAITGUST", 8) && head[2] == WIRE_VERSION);
    u64 at = p->base + WIRE_GUEST_OFF;
    p->guest = (struct guest_points){.start = at + head[3],
                                     .exit = at + head[4],
                                     .gate = at + head[5],
                                     .state = at + head[6],
                                     .indirect = at + head[7],
                                     .landing = at + head[8],
                                     .syscall = at + head[9],
                                     .stale = at + head[10],
                                     .tell = at + head[11]};
    p->call_returned = at + head[12];
    p->remote = at + head[13];
}

/* Where the Yama module lets a task be traced only by those it descends from, an orphan must allow it. */
static bool yama_restricts(void)
{
    char scope = 0;
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool known = read(fd, &scope, 1) == 1;
    close(fd);
    return known && scope == '1';
}

/* Few buffers stay in the cache of the processor. Many are needed where a thread must never wait, since it has a budget, and where several drains pack what
 * one thread writes: each needs a stretch of its own (bundle.c). */
static u32 window_of(const struct run_options *o)
{
    return o->budget.seconds > 0 || o->sink == SINK_file ? BUFFER_WINDOW_LIMIT : 16;
}

static void fill_control(struct process *p)
{
    struct control *c = p->control = (struct control *)(p->wire + WIRE_CTL_OFF);
    c->events = p->run->options->events;
    c->jump = p->jump;
    c->selection = select_kind(p->run->options);
    c->open = p->run->window == WINDOW_open;
    c->by_marks = p->run->options->by_marks;
    c->countdown = p->run->options->trigger;
    budget_tell(p->run, c);
    c->rests = select_rests(p->run);
    c->is_novel = p->run->options->novel != 0;
    c->spin = 2000;
    c->buffer_size = p->run->stress.tinybuf ? BUFFER_SLACK + 8192 : 256 << 10;
    c->window = window_of(p->run->options);
    c->drops = p->run->options->overflow == OVERFLOW_drop;
    p->buffer_size = c->buffer_size;
    c->threads = c->blocks = 1;
    c->follow = p->run->options->follow;
    c->tracer = yama_restricts() ? (u32)getpid() : 0;
    p->n_buffers = (u32)MIN(WIRE_BUF_AREA / c->buffer_size, (u64)BUFFER_COUNT_LIMIT);
    for (u32 i = 0; i < p->n_buffers; i++)
        c->free[i / 64] |= 1ull << (i % 64);
}

/* A thread starts with the registers it had. */
void inject_thread(struct process *p, u32 block, u32 tid, const struct user_regs_struct *r)
{
    struct thread *t = process_thread(p, block);
    const u64 regs[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                          r->r8,  r->r9,  r->r10, 0,      r->r12, r->r13, r->r14, r->r15};
    memcpy(t->regs, regs, sizeof regs);
    t->app_r11 = t->ptr = r->r11;
    t->flags = r->eflags;
    t->pc = r->rip;
    t->self = p->base + WIRE_THREAD_OFF + (u64)block * WIRE_THREAD_SIZE;
    t->app_gs = r->gs_base;
    t->entered = ENTERED_NONE;
    t->jump_mask = translator_jump_mask(p->translator);
    t->buffer = NO_BUFFER;
    t->block = t->number = block;
    t->tid = tid;
    t->pid = (u32)p->seen;
    t->in_use = 1;
}

int inject_enter(struct process *p, u32 block, pid_t tid, struct user_regs_struct r)
{
    r.rip = p->guest.start;
    r.gs_base = process_thread(p, block)->self;
    r.orig_rax = (unsigned long)-1; /* not in a system call: nothing to restart */
    return ptrace(PTRACE_SETREGS, tid, 0, &r) < 0 || ptrace(PTRACE_DETACH, tid, 0, 0) < 0 ? -1 : 0;
}

int inject_release(struct process *p, struct err *e)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, p->pid, 0, &r) < 0)
        return err_set(e, "cannot enter the program: %s", strerror(errno));
    inject_thread(p, 0, (u32)p->seen, &r);
    return inject_enter(p, 0, p->pid, r) ? err_set(e, "cannot let the program run: %s", strerror(errno)) : 0;
}

static int open_memory(struct process *p, struct err *e)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", p->pid);
    p->mem_fd = open(path, O_RDWR | O_CLOEXEC);
    return p->mem_fd < 0 ? err_set(e, "cannot read the program's memory: %s", strerror(errno)) : 0;
}

int inject(struct process *p, struct err *e)
{
    p->seen = pids_seen(p->pid);
    if (open_memory(p, e) < 0 || choose_addresses(p, e) < 0 || share_pages(p, e) < 0)
        return -1;
    place_guest(p);
    fill_control(p);
    if (!has_fixed_addresses(p->pid) && !p->run->stress.apart)
        p->control->near = p->near;
    return 0;
}

/* -- Forked children -------------------------------------------------------------------------- */

/* The child goes on with its thread's block as it stands, at the same address; all else is new. */
static void inherit_thread(struct process *p, const struct process *parent, u32 block)
{
    struct thread *t = process_thread(p, block);
    *t = *process_thread(parent, block);
    t->self = p->base + WIRE_THREAD_OFF + (u64)block * WIRE_THREAD_SIZE;
    t->block = block;
    t->number = 0;
    t->made = TASK_thread;
    t->buffer = NO_BUFFER;
    t->req_state = REQ_IDLE;
    t->cloning = 0;
    t->in_use = 1;
    t->inside = t->known = 0;
    t->looking = 0;
    t->n_requests = t->n_gates = t->n_indirect_misses = t->n_return_misses = t->n_syscalls = t->n_rests = 0;
    p->control->blocks = block + 1;
    p->control->brk = parent->control->brk;
    p->control->near = parent->control->near;
    p->control->has_rseq = parent->control->has_rseq;
    p->control->open = parent->control->open;
    p->control->by_marks = parent->control->by_marks;
    p->control->countdown = parent->control->countdown;
}

/* The signal actions that the child's maker copied for it become its own. */
static void inherit_actions(struct process *p, const struct process *parent, u32 block)
{
    u32 i = process_thread(p, block)->sighand % SIGHANDS;
    p->control->sighand[i] = parent->control->sighand[i];
    p->control->sighand[i].users = 1;
    p->control->sighand[i].lock = 0;
    store_release(&parent->control->sighand[i].users, 0);
}

int inject_adopt(struct process *p, const struct process *parent, u32 block, int fd, struct err *e)
{
    p->base = parent->base;
    p->jump = parent->jump;
    fd = take_pages(p, fd, e);
    if (fd < 0 || map_here(p, fd, e) < 0 || open_memory(p, e) < 0)
        return -1;
    place_guest(p);
    fill_control(p);
    inherit_thread(p, parent, block);
    inherit_actions(p, parent, block);
    return 0;
}
