/* SPDX-License-Identifier: MIT */
/* The judge: runs a program one instruction at a time under ptrace and lists its events. */

/*
 *   stepper [-o FILE] [-v] [--slow] [--stack] [--values] [--noaslr] -- PROGRAM [ARG]...
 *
 * From the first instruction of the dynamic loader to the end, every instruction is decoded, its
 * accesses are computed from the registers before it, and it is run. The lines are those of
 * docs/events.md. --stack adds " R <rsp>,8" behind each instruction, rsp being that before it, and
 * "H  <pc>,<signal>" with another such line where a handler interrupts the program at pc. --values
 * steps everything, and adds the bytes of memory to each access, as a number: those before the instruction to loads, those
 * after it to stores, both to modifies; and behind them a word, " rep", " masked" or " area", for forms whose data gait
 * may not know. -v ends with the counts on stderr. The status is the program's own (128 + n for signal n, 127 if it
 * cannot be run), 3 if an instruction cannot be judged, 2 for wrong usage.
 *
 * There are two ways to run an instruction. A ptrace step needs no trust and takes 20 us. The fast
 * lane (lane.h) takes 0.1 us, and what it cannot do is stepped: system calls, signals, faults.
 * --slow steps everything; where the two lists differ, the slow one is right.
 *
 * What it does not do: threads but the first, and children, run untraced; a program that sets the
 * trap flag itself, or uses far calls and returns, is not judged. The program can see that it is
 * traced (TracerPid) and pinned to one core, and that SIGTRAP is never blocked.
 */
#define _GNU_SOURCE
#include "accesses.h"
#include "lane.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CACHE_SIZE = 1 << 16, OUT_FULL = 1 << 20, CANNOT_JUDGE = 3 };

struct counts {
    uint64_t insns, loads, stores, modifies;
};

/* A state of the list that one can go back to. */
struct mark {
    size_t used;
    struct counts counts;
};

/* Lines wait here until their instruction has completed. */
struct out {
    int fd;
    char *text;
    size_t size;
    struct mark now;
    struct mark certain; /* after the last instruction that completed */
    struct mark step;    /* before the step under way: one iteration of a rep instruction */
};

/* The accesses of the step under way and what they will have read. */
struct pending {
    unsigned n;
    struct access access[ACCESSES_MAX];
    uint8_t *before[ACCESSES_MAX]; /* in data */
    uint8_t data[1 << 17];
};

struct stepper {
    pid_t pid;
    struct machine m;
    struct out out;
    struct insn *cache; /* direct-mapped by pc */
    struct lane *lane;  /* NULL if every instruction is to be stepped */
    bool shows_stack;   /* list the stack pointer and signals too */
    bool shows_values;  /* list data too */
    struct pending pending;
    int status;         /* of the last wait */
    int signal;         /* to be delivered with the next step, 0 if none */
    bool is_caught;     /* the program has a handler for it */
    siginfo_t held;     /* came while the program was in the lane; si_signo 0 if none */
    uint64_t held_mask; /* the program's signal mask, meanwhile */
    uint64_t rep_pc;    /* the rep instruction that has begun and not ended, 0 if none */
    uint64_t rep_sp;    /* its stack pointer: a handler may use the same instruction */
};

static void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

static void die(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fputs("stepper: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(CANNOT_JUDGE);
}

/* -- Lines ------------------------------------------------------------------------------------- */

static void out_write(struct out *o)
{
    size_t done = 0;

    while (done < o->certain.used) {
        ssize_t n = write(o->fd, o->text + done, o->certain.used - done);

        if (n < 0 && errno != EINTR)
            die("cannot write the events: %s", strerror(errno));
        done += n > 0 ? n : 0;
    }
    o->now.used = o->certain.used = 0;
}

/* The instruction completed: its lines are certain, and may leave. */
static void out_commit(struct out *o)
{
    o->certain = o->now;
    if (o->certain.used > OUT_FULL)
        out_write(o);
}

/* Append "TTT<address>,<size>\n", T being the three characters that begin a line. */
static void out_line(struct out *o, const char *begin, uint64_t addr, unsigned size)
{
    char *p, digits[10];
    unsigned n = 0, width = 8;

    if (o->size - o->now.used < 64) {
        o->size = o->size ? 2 * o->size : 4 * OUT_FULL;
        o->text = realloc(o->text, o->size);
        if (!o->text)
            die("no memory for the lines of one instruction");
    }
    p = o->text + o->now.used;
    memcpy(p, begin, 3);
    p += 3;
    while (width < 16 && addr >> 4 * width)
        width++;
    while (width--)
        *p++ = "0123456789abcdef"[addr >> 4 * width & 15];
    *p++ = ',';
    do
        digits[n++] = '0' + size % 10;
    while (size /= 10);
    while (n)
        *p++ = digits[--n];
    *p++ = '\n';
    o->now.used = p - o->text;
}

static void out_text(struct out *o, const char *text, size_t n)
{
    while (o->size - o->now.used < n) {
        o->size = 2 * o->size;
        o->text = realloc(o->text, o->size);
        if (!o->text)
            die("no memory for the lines of one instruction");
    }
    memcpy(o->text + o->now.used, text, n);
    o->now.used += n;
}

/* Add a number to the last line; its lowest byte comes first. */
static void out_value(struct out *o, const uint8_t *bytes, unsigned n)
{
    o->now.used--;
    out_text(o, " ", 1);
    while (n--) {
        char digits[2] = {"0123456789abcdef"[bytes[n] >> 4], "0123456789abcdef"[bytes[n] & 15]};

        out_text(o, digits, 2);
    }
    out_text(o, "\n", 1);
}

static void out_word(struct out *o, const char *word)
{
    o->now.used--;
    out_text(o, word, strlen(word));
    out_text(o, "\n", 1);
}

static void out_access(struct out *o, const struct access *a)
{
    switch (a->kind) {
    case 'L':
        o->now.counts.loads++;
        out_line(o, " L ", a->addr, a->size);
        break;
    case 'S':
        o->now.counts.stores++;
        out_line(o, " S ", a->addr, a->size);
        break;
    default:
        o->now.counts.modifies++;
        out_line(o, " M ", a->addr, a->size);
    }
}

/* -- The program ------------------------------------------------------------------------------- */

/* Both on one core: a step across cores wakes a sleeping one and takes three times as long. */
static void pin_to_one_core(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void resume(struct stepper *s, enum __ptrace_request how, int sig)
{
    if (ptrace(how, s->pid, NULL, (void *)(long)sig) < 0)
        die("cannot resume the program: %s", strerror(errno));
    while (waitpid(s->pid, &s->status, __WALL) < 0)
        if (errno != EINTR)
            die("cannot wait for the program: %s", strerror(errno));
}

static bool has_ended(const struct stepper *s)
{
    return !WIFSTOPPED(s->status);
}

static bool has_stopped_with(const struct stepper *s, int sig)
{
    return WIFSTOPPED(s->status) && s->status >> 8 == sig;
}

static bool has_just_executed(const struct stepper *s)
{
    return WIFSTOPPED(s->status) && s->status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8);
}

static void read_registers(struct stepper *s)
{
    if (ptrace(PTRACE_GETREGS, s->pid, NULL, &s->m.regs) < 0)
        die("cannot read the registers: %s", strerror(errno));
    s->m.has_xstate = false;
}

/* execve stops twice: inside the system call, and on its way out before the first instruction. */
static void finish_exec(struct stepper *s)
{
    resume(s, PTRACE_SYSCALL, 0);
    if (!has_stopped_with(s, SIGTRAP | 0x80))
        die("the program ended before its first instruction");
    if (s->lane && !lane_attach(s->lane, s->pid)) {
        fputs("stepper: no fast lane in this program\n", stderr);
        s->lane = NULL;
    }
    read_registers(s);
}

enum { OPTIONS = PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL };

static void child(char **argv)
{
    if (personality(ADDR_NO_RANDOMIZE) < 0 || ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
        _exit(CANNOT_JUDGE);
    raise(SIGSTOP);
    execvp(argv[0], argv);
    fprintf(stderr, "stepper: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Start the program and stop before its first instruction; false if it could not be run. */
static bool launch(struct stepper *s, char **argv)
{
    pin_to_one_core();
    s->pid = s->m.pid = fork();
    if (s->pid < 0)
        die("cannot fork: %s", strerror(errno));
    if (s->pid == 0)
        child(argv);
    if (waitpid(s->pid, &s->status, __WALL) < 0 || !has_stopped_with(s, SIGSTOP))
        die("cannot trace the program");
    if (ptrace(PTRACE_SETOPTIONS, s->pid, NULL, OPTIONS) < 0)
        die("cannot set ptrace options: %s", strerror(errno));
    resume(s, PTRACE_CONT, 0);
    if (!has_just_executed(s))
        return false;
    finish_exec(s);
    return true;
}

/* -- Signals ----------------------------------------------------------------------------------- */

/* Whether the program has a handler, as /proc tells. Asked before the signal is delivered. */
static bool has_handler(pid_t pid, int sig)
{
    char path[64], line[256];
    unsigned long long caught = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/status", pid);
    f = fopen(path, "r");
    if (!f)
        return false;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "SigCgt: %llx", &caught) == 1)
            break;
    fclose(f);
    return caught >> (sig - 1) & 1;
}

/*
 * A system call that a signal without a handler interrupted is run again: the kernel will move the
 * pc back when the program goes on. Do it now, so that what is listed next is what runs next.
 */
static void restart_syscall(struct stepper *s)
{
    enum {
        RESTART_SYS = -512,
        RESTART_NO_INTR = -513,
        RESTART_NO_HAND = -514,
        RESTART_BLOCK = -516
    };
    struct user_regs_struct *r = &s->m.regs;
    long result = r->rax;

    if ((long)r->orig_rax < 0)
        return;
    if (result != RESTART_SYS && result != RESTART_NO_INTR && result != RESTART_NO_HAND &&
        result != RESTART_BLOCK)
        return;
    r->rax = result == RESTART_BLOCK ? SYS_restart_syscall : r->orig_rax;
    r->rip -= 2;
    r->orig_rax = -1;
    if (ptrace(PTRACE_SETREGS, s->pid, NULL, r) < 0)
        die("cannot restart a system call: %s", strerror(errno));
}

/* Remember a signal that the program is to receive. */
static void take_signal(struct stepper *s, int sig)
{
    siginfo_t info;

    /* A stop without siginfo is the group stop that follows SIGSTOP: nothing is to be passed on. */
    if (ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) < 0)
        sig = 0;
    s->signal = sig;
    s->is_caught = sig && has_handler(s->pid, sig);
    if (!s->is_caught)
        restart_syscall(s);
}

/*
 * Keep SIGTRAP unblocked. A step's trap that finds it blocked makes the kernel forget the
 * program's own handler. Only system calls and entering a handler can block it.
 */
static void unblock_traps(struct stepper *s)
{
    uint64_t mask;

    if (ptrace(PTRACE_GETSIGMASK, s->pid, (void *)sizeof mask, &mask) < 0)
        return;
    if (!(mask >> (SIGTRAP - 1) & 1))
        return;
    mask &= ~(1ull << (SIGTRAP - 1));
    ptrace(PTRACE_SETSIGMASK, s->pid, (void *)sizeof mask, &mask);
}

/* Step into the handler of the signal: the frame is built, and nothing is run. */
static void enter_handler(struct stepper *s)
{
    if (s->shows_stack) {
        out_line(&s->out, "H  ", s->m.regs.rip, s->signal);
        out_line(&s->out, " R ", s->m.regs.rsp, 8);
        out_commit(&s->out);
    }
    resume(s, PTRACE_SINGLESTEP, s->signal);
    s->signal = 0;
    if (has_ended(s))
        return;
    unblock_traps(s);
    read_registers(s);
}

/* Whether this SIGTRAP is the step's own, and not an int3 of the program or sent by somebody. */
static bool is_step_trap(struct stepper *s)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) < 0)
        return false;
    return info.si_code > 0 && info.si_code != SI_KERNEL;
}

/* -- Stepping ---------------------------------------------------------------------------------- */

/* Read the bytes at the pc; fewer than 15 if the next page is not there. */
static unsigned read_code(const struct stepper *s, uint64_t pc, uint8_t *bytes)
{
    unsigned until_page = 4096 - (pc & 4095);
    unsigned first = until_page < INSN_BYTES ? until_page : INSN_BYTES;
    struct iovec here = {bytes, INSN_BYTES};
    struct iovec there[2] = {{(void *)pc, first}, {(void *)(pc + first), INSN_BYTES - first}};
    ssize_t n = process_vm_readv(s->pid, &here, 1, there, first < INSN_BYTES ? 2 : 1, 0);

    return n < 0 ? 0 : n;
}

/* The instruction at the pc; NULL if there is none to be read, so that running it will fault. */
static const struct insn *fetch(struct stepper *s)
{
    uint64_t pc = s->m.regs.rip;
    struct insn *in = &s->cache[(pc ^ pc >> 16) % CACHE_SIZE];
    uint8_t bytes[INSN_BYTES];
    unsigned n = read_code(s, pc, bytes);
    const char *why;

    if (n == 0)
        return NULL;
    if (in->pc == pc && in->length && in->length <= n && !memcmp(bytes, in->bytes, in->length))
        return in;
    why = insn_decode(in, pc, bytes, n);
    if (!why)
        return in;
    out_write(&s->out);
    fprintf(stderr, "stepper: %lx:", (long)pc);
    for (unsigned i = 0; i < n; i++)
        fprintf(stderr, " %02x", bytes[i]);
    fputc('\n', stderr);
    die("cannot judge %s", why);
}

/* What is in memory; zeros where nothing is, for then the instruction will fault. */
static void read_memory(const struct stepper *s, const struct access *a, uint8_t *bytes)
{
    struct iovec here = {bytes, a->size}, there = {(void *)a->addr, a->size};

    if (process_vm_readv(s->pid, &here, 1, &there, 1, 0) != (ssize_t)a->size)
        memset(bytes, 0, a->size);
}

/* Keep accesses until they have happened, with the memory as it is now. */
static void expect(struct stepper *s, const struct access *accesses, unsigned n)
{
    struct pending *p = &s->pending;
    uint8_t *at = p->data;

    p->n = n;
    for (unsigned i = 0; i < n; i++) {
        p->access[i] = accesses[i];
        p->before[i] = at;
        if (at + 2 * accesses[i].size > p->data + sizeof p->data)
            die("there is too much data in one step");
        read_memory(s, &accesses[i], at);
        at += accesses[i].size;
    }
}

/* What gait need not know the data of. */
static const char *excuse(const struct insn *in)
{
    switch (in->shape) {
    case BIT_MASK:
    case ANY_BIT:
        return " masked";
    case SAVE_AREA:
    case SAVE_PACKED:
    case LOAD_AREA:
        return " area";
    default:
        return in->is_repeated ? " rep" : NULL;
    }
}

/* The accesses have happened: list them with the memory as it was, and as it is now. */
static void list_values(struct stepper *s, const struct insn *in)
{
    struct pending *p = &s->pending;

    for (unsigned i = 0; i < p->n; i++) {
        const struct access *a = &p->access[i];
        uint8_t *after = p->data + sizeof p->data - a->size;

        out_access(&s->out, a);
        if (a->kind != 'S')
            out_value(&s->out, p->before[i], a->size);
        read_memory(s, a, after);
        if (a->kind != 'L')
            out_value(&s->out, after, a->size);
        if (excuse(in))
            out_word(&s->out, excuse(in));
    }
    p->n = 0;
}

/* List the instruction, or the next iteration of a rep instruction that is under way. */
static void list(struct stepper *s, const struct insn *in)
{
    struct access accesses[ACCESSES_MAX];
    unsigned n;

    s->out.step = s->out.now;
    if (!in->is_repeated || s->rep_pc != in->pc || s->rep_sp != s->m.regs.rsp) {
        s->out.now.counts.insns++;
        out_line(&s->out, "I  ", in->pc, in->length);
        if (s->shows_stack)
            out_line(&s->out, " R ", s->m.regs.rsp, 8);
    }
    n = insn_accesses(in, &s->m, accesses);
    if (s->shows_values)
        expect(s, accesses, n);
    else
        for (unsigned i = 0; i < n; i++)
            out_access(&s->out, &accesses[i]);
}

/* Run an instruction that cannot be stepped to a breakpoint after it. */
static void step_by_breakpoint(struct stepper *s, const struct insn *in)
{
    void *next = (void *)(in->pc + in->length);
    long word = ptrace(PTRACE_PEEKTEXT, s->pid, next, NULL);

    if (ptrace(PTRACE_POKETEXT, s->pid, next, (void *)((word & ~0xffl) | 0xcc)) < 0)
        die("cannot set a breakpoint at %p: %s", next, strerror(errno));
    resume(s, PTRACE_CONT, s->signal);
    if (has_ended(s))
        return;
    ptrace(PTRACE_POKETEXT, s->pid, next, (void *)word);
    read_registers(s);
    if (has_stopped_with(s, SIGTRAP) && s->m.regs.rip == (uint64_t)next + 1)
        ptrace(PTRACE_POKEUSER, s->pid, offsetof(struct user, regs.rip), next);
}

/*
 * Run a system call from its entry to its exit. A single step would leave the trap flag in r11 and
 * its trap might meet a mask that blocks it.
 */
static void step_syscall(struct stepper *s)
{
    resume(s, PTRACE_SYSCALL, s->signal);
    if (!has_stopped_with(s, SIGTRAP | 0x80))
        return;
    s->signal = 0;
    resume(s, PTRACE_SYSCALL, 0);
    if (has_just_executed(s))
        finish_exec(s);
    if (!has_ended(s))
        unblock_traps(s);
}

/* The instruction has run, or one iteration of it; the registers are those after it. */
static void complete(struct stepper *s, const struct insn *in)
{
    if (s->shows_values)
        list_values(s, in);
    s->rep_pc = in->is_repeated && s->m.regs.rip == in->pc ? in->pc : 0;
    s->rep_sp = s->m.regs.rsp;
    if (!s->rep_pc)
        out_commit(&s->out);
}

/* The step stopped with SIGTRAP: usually the instruction is done. */
static void settle_trap(struct stepper *s, const struct insn *in)
{
    bool has_moved = s->m.regs.rip != in->pc;

    s->signal = 0;
    if ((in->is_trap || (!has_moved && !in->is_repeated)) && !is_step_trap(s)) {
        if (!has_moved)
            s->out.now = s->out.step;
        take_signal(s, SIGTRAP);
    }
    complete(s, in);
}

static bool is_fault(int sig, const siginfo_t *info)
{
    return info->si_code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGFPE || sig == SIGILL);
}

/*
 * The step stopped with another signal, before it ran anything. A fault ends the instruction, with
 * the iterations of a rep that it has done; a rep instruction interrupted from outside goes on
 * after the handler.
 */
static void settle_signal(struct stepper *s)
{
    int sig = WSTOPSIG(s->status);
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) == 0 && is_fault(sig, &info)) {
        /* Iterations that were done before the fault stay. */
        s->out.now = s->rep_pc ? s->out.step : s->out.certain;
        out_commit(&s->out);
        s->rep_pc = 0;
    } else {
        s->out.now = s->out.step;
        out_commit(&s->out);
    }
    take_signal(s, sig);
}

/* The program is gone: inside a system call, or by a signal before the instruction ran. */
static void settle_end(struct stepper *s, const struct insn *in)
{
    if (!in->is_syscall || s->signal)
        s->out.now = s->out.certain;
    out_commit(&s->out);
}

/* Step one instruction and decide what became of it. */
static void step(struct stepper *s)
{
    static const struct insn unreadable;
    const struct insn *in = fetch(s);

    if (in)
        list(s, in);
    else
        in = &unreadable;
    if (in->is_syscall && s->lane)
        lane_watch_syscall(s->lane, &s->m.regs);
    if (in->is_syscall)
        step_syscall(s);
    else if (in->is_unsteppable)
        step_by_breakpoint(s, in);
    else
        resume(s, PTRACE_SINGLESTEP, s->signal);
    if (has_ended(s)) {
        settle_end(s, in);
        return;
    }
    read_registers(s);
    if (has_stopped_with(s, SIGTRAP | 0x80))
        out_commit(&s->out);
    else if (has_stopped_with(s, SIGTRAP))
        settle_trap(s, in);
    else
        settle_signal(s);
}

/* -- The fast lane ----------------------------------------------------------------------------- */

/* List what the lane has recorded. Leaves the registers as they are after the last instruction. */
static void replay(struct stepper *s)
{
    const struct insn *last = NULL;

    for (unsigned i = 0; i <= lane_count(s->lane); i++) {
        const struct insn *in = lane_record(s->lane, i, &s->m);

        if (last)
            complete(s, last);
        if (in)
            list(s, in);
        last = in;
    }
}

/* A signal in the lane: it waits for the instruction under way, and no other may come meanwhile. */
static void hold_signal(struct stepper *s, const siginfo_t *info)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    uint64_t mask = ~0ull;

    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++)
        mask &= ~(1ull << (faults[i] - 1));
    s->held = *info;
    ptrace(PTRACE_GETSIGMASK, s->pid, (void *)sizeof mask, &s->held_mask);
    ptrace(PTRACE_SETSIGMASK, s->pid, (void *)sizeof mask, &mask);
    lane_leave(s->lane);
}

/* The program has left the lane: hand it the signal that was held. */
static void release_signal(struct stepper *s)
{
    ptrace(PTRACE_SETSIGMASK, s->pid, (void *)sizeof s->held_mask, &s->held_mask);
    ptrace(PTRACE_SETSIGINFO, s->pid, NULL, &s->held);
    s->signal = s->held.si_signo;
    s->is_caught = has_handler(s->pid, s->signal);
    s->held.si_signo = 0;
    if (!s->is_caught)
        restart_syscall(s);
}

/*
 * Let the program run in the lane until the runner stops; true if it is to go on. A fault goes back
 * to the start of the instruction, to happen again in its proper place. Another signal waits until
 * the instruction under way is done.
 */
static bool drive(struct stepper *s)
{
    for (;;) {
        siginfo_t info;
        uint64_t pc;

        resume(s, PTRACE_CONT, 0);
        if (has_ended(s))
            return false;
        pc = ptrace(PTRACE_PEEKUSER, s->pid, offsetof(struct user, regs.rip), NULL);
        if (has_stopped_with(s, SIGTRAP) && lane_has_stopped(pc))
            return lane_reason(s->lane) == LANE_MISS || lane_reason(s->lane) == LANE_FULL;
        if (ptrace(PTRACE_GETSIGINFO, s->pid, NULL, &info) < 0)
            continue;
        if (is_fault(WSTOPSIG(s->status), &info)) {
            lane_forget_unfinished(s->lane);
            return false;
        }
        hold_signal(s, &info);
    }
}

/* Ride the lane up to an instruction that must be stepped, or to a signal. */
static void ride(struct stepper *s)
{
    bool goes_on;

    do {
        lane_enter(s->lane, &s->m.regs);
        goes_on = drive(s);
        replay(s);
        if (has_ended(s)) {
            out_commit(&s->out);
            return;
        }
        if (goes_on && lane_reason(s->lane) == LANE_MISS)
            lane_supply(s->lane);
    } while (goes_on);
    if (ptrace(PTRACE_SETREGS, s->pid, NULL, &s->m.regs) < 0)
        die("cannot leave the fast lane: %s", strerror(errno));
    if (s->held.si_signo)
        release_signal(s);
}

static void run(struct stepper *s)
{
    while (!has_ended(s)) {
        if (s->signal && s->is_caught) {
            enter_handler(s);
            continue;
        }
        if (s->lane && !s->signal)
            ride(s);
        if (!has_ended(s) && !(s->signal && s->is_caught))
            step(s);
    }
}

/* -- The command ------------------------------------------------------------------------------- */

static void usage(void)
{
    fputs("usage: stepper [-o FILE] [-v] [--slow] [--stack] [--values] [--noaslr] -- PROGRAM [ARG]...\n",
          stderr);
    exit(2);
}

static int exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
    static struct stepper s;
    bool is_verbose = false, is_slow = false;
    int i;

    s.out.fd = STDOUT_FILENO;
    for (i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--"); i++) {
        if (!strcmp(argv[i], "-v"))
            is_verbose = true;
        else if (!strcmp(argv[i], "--slow"))
            is_slow = true;
        else if (!strcmp(argv[i], "--stack"))
            s.shows_stack = true;
        else if (!strcmp(argv[i], "--values"))
            s.shows_values = is_slow = true;
        else if (!strcmp(argv[i], "-o") && i + 1 < argc)
            s.out.fd = open(argv[++i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        else if (strcmp(argv[i], "--noaslr")) /* the default, since nothing can be compared else */
            usage();
        if (s.out.fd < 0)
            die("cannot write %s: %s", argv[i], strerror(errno));
    }
    if (i < argc && !strcmp(argv[i], "--"))
        i++;
    if (i == argc)
        usage();
    accesses_init();
    s.lane = is_slow ? NULL : lane_open();
    s.cache = calloc(CACHE_SIZE, sizeof *s.cache);
    if (!s.cache)
        die("no memory");
    if (launch(&s, argv + i))
        run(&s);
    out_write(&s.out);
    if (is_verbose)
        fprintf(stderr, "%lu instructions, %lu loads, %lu stores, %lu modifies\n",
                s.out.now.counts.insns, s.out.now.counts.loads, s.out.now.counts.stores,
                s.out.now.counts.modifies);
    return exit_status(s.status);
}
