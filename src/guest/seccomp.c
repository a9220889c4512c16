/* SPDX-License-Identifier: MIT */
/* The program's seccomp filters meet only its own calls: each is put behind a few instructions that
 * allow what the guest itself calls, by the address it calls from. */
#include "guest/guest.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

extern const u8 guest_head[], guest_end[], call_returned[], task_returned[];

enum { PREFIX = 9, PROGRAM_LIMIT = 4096 };
enum { ROOM = (PREFIX + PROGRAM_LIMIT) * sizeof(struct sock_filter) };

static u32 low(const u8 *label)
{
    return (u32)(u64)(uintptr_t)label;
}

/* The guest's own calls come from its text, but from two places: there the program's are made. */
static void put_prefix(struct sock_filter *f)
{
    const u32 ip = offsetof(struct seccomp_data, instruction_pointer);
    const struct sock_filter prefix[PREFIX] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip + 4),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (u32)((u64)(uintptr_t)guest_head >> 32), 0, 6),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ip),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(call_returned), 4, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, low(task_returned), 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low(guest_head), 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, low(guest_end), 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_IMM, 0), /* a filter begins with an empty accumulator */
    };
    for (u32 i = 0; i < PREFIX; i++)
        f[i] = prefix[i];
}

static struct sock_filter *get_room(struct thread *t)
{
    s64 at =
        kernel6(__NR_mmap, 0, ROOM, 3 /* read, write */, 0x22 /* private, anonymous */, ~0ull, 0);
    if (at < 0)
        return 0;
    t->room = (u64)at;
    return (struct sock_filter *)t->room;
}

void seccomp_done(struct thread *t)
{
    if (t->room)
        kernel(__NR_munmap, t->room, ROOM, 0, 0);
    t->room = 0;
}

/* Replace the program that the argument points to by ours with it behind. What is not one the
 * kernel shall judge itself. */
static void lend_filter(struct thread *t, enum reg reg)
{
    struct sock_fprog p;
    if (copy_in(&p, t->regs[reg], sizeof p) || !p.len || p.len > PROGRAM_LIMIT - PREFIX)
        return;
    struct sock_filter *f = get_room(t);
    if (!f || copy_in(f + PREFIX, (u64)(uintptr_t)p.filter, p.len * sizeof *f))
        return;
    put_prefix(f);
    t->arg[2] = (u16)(p.len + PREFIX);
    t->arg[3] = t->room;
    call_swap_argument(t, reg, (u64)(uintptr_t)&t->arg[2]);
}

/* Strict mode is kept by us: the kernel would not let us call anything. */
bool seccomp_forbids(const struct thread *t)
{
    u64 nr = t->regs[RAX];
    return t->strict && nr != __NR_read && nr != __NR_write && nr != __NR_exit &&
           nr != __NR_rt_sigreturn;
}

bool seccomp_before(struct thread *t)
{
    bool by_prctl = t->regs[RAX] == __NR_prctl;
    u64 mode = by_prctl ? t->regs[RSI] : t->regs[RDI];
    if (mode == (by_prctl ? (u64)SECCOMP_MODE_STRICT : (u64)SECCOMP_SET_MODE_STRICT)) {
        t->strict = 1;
        t->result = 0;
        return true;
    }
    if (mode == (by_prctl ? (u64)SECCOMP_MODE_FILTER : (u64)SECCOMP_SET_MODE_FILTER))
        lend_filter(t, RDX);
    return false;
}
