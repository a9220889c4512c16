/* SPDX-License-Identifier: MIT */
/* New images: the host must be there when one begins, so it is told before the call.
 *
 * A search along PATH calls execve for many files that are not there: they are tried with a cheaper call
 * first. A file that gives privileges (set-user-ID and its like) gives none to a task that is traced:
 * such a task is left alone. */
#include "guest/guest.h"

enum {
    AT_FDCWD_ = -100,
    AT_EACCESS_ = 0x200,
    AT_SYMLINK_NOFOLLOW_ = 0x100,
    AT_EMPTY_PATH_ = 0x1000,
    X_OK_ = 1,
    S_ISUID_ = 04000,
    S_ISGID_ = 02000,
    S_IXGRP_ = 010,
    ENOSYS_ = 38,
};

/* Which file a call names. */
struct file {
    u64 dir, path, flags;
};

static struct file file_of(const struct thread *t)
{
    if (t->regs[RAX] == __NR_execve)
        return (struct file){(u64)AT_FDCWD_, t->regs[RDI], 0};
    return (struct file){t->regs[RDI], t->regs[RSI],
                         t->regs[R8] & (AT_SYMLINK_NOFOLLOW_ | AT_EMPTY_PATH_)};
}

static bool may_be_run(const struct file *f)
{
    s64 r = kernel(__NR_faccessat2, f->dir, f->path, X_OK_, AT_EACCESS_ | f->flags);
    return r == 0 || r == -ENOSYS_;
}

/* The head of the kernel's struct stat. */
struct status {
    u64 dev, ino, links;
    u32 mode, uid, gid;
    u8 rest[108];
};

static bool has_capabilities(const struct file *f)
{
    static const char name[] = "security.capability";
    u64 at = (u64)(uintptr_t)name;
    if (f->flags & AT_EMPTY_PATH_)
        return kernel(__NR_fgetxattr, f->dir, at, 0, 0) > 0;
    return f->dir == (u64)AT_FDCWD_ && kernel(__NR_getxattr, f->path, at, 0, 0) > 0;
}

static bool gives_privileges(const struct file *f)
{
    struct status st;
    if (kernel(__NR_newfstatat, f->dir, f->path, (u64)(uintptr_t)&st, f->flags) < 0)
        return false;
    bool uid = (st.mode & S_ISUID_) && kernel(__NR_geteuid, 0, 0, 0, 0) != st.uid;
    bool gid =
        (st.mode & S_ISGID_) && (st.mode & S_IXGRP_) && kernel(__NR_getegid, 0, 0, 0, 0) != st.gid;
    return uid || gid || (has_capabilities(f) && kernel(__NR_geteuid, 0, 0, 0, 0) != 0);
}

void allow_tracer(const struct thread *t)
{
    enum { PR_SET_PTRACER_ = 0x59616d61 };
    if (control(t)->tracer)
        kernel(__NR_prctl, PR_SET_PTRACER_, control(t)->tracer, 0, 0);
}

/* If the call succeeds, this memory is gone: hand over what is in it. */
void before_exec(struct thread *t)
{
    struct file f = file_of(t);
    if (!may_be_run(&f))
        return;
    if (records(t))
        publish_buffer(t);
    t->execing = 1;
    if (!control(t)->follow)
        return;
    allow_tracer(t);
    ask_range(t, REQ_exec, t->tid, gives_privileges(&f) ? EXEC_privileged : EXEC_plain);
}

bool after_exec(struct thread *t)
{
    t->execing = 0;
    if (control(t)->follow)
        ask(t, REQ_exec_failed, t->tid);
    return new_buffer(t);
}
