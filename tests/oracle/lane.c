/* SPDX-License-Identifier: MIT */
/* The judge's fast lane: the runner, the copies it executes, and the records it leaves. */

#define _GNU_SOURCE
#include "lane.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* -- What the runner and the judge share ------------------------------------------------------- */

/*
 * The addresses are below 2 GB, so that the runner can use them as they are, while all registers
 * hold the program's values; and below the range of MAP_32BIT.
 *
 *   LANE_BASE  registers, orders | runner's stack | runner | vector states | records | entries
 */
#define LANE_BASE 0x3d000000
#define STACK_TOP 0x1000
#define RUNNER    0x1000
#define XSTATES   0x2000
#define RECORDS   0x42000
#define ENTRIES   0x100000

#define XSTATES_MAX   64
#define XSTATE_SIZE   4096
#define RECORDS_MAX   4096
#define RECORD_SIZE   144
#define ENTRY_BITS    18
#define ENTRY_SIZE    128
#define ENTRIES_SPARE 1024 /* beyond the last, so that probing need not wrap */
#define CODE_MAX      40

struct record {
    uint64_t gpr[16]; /* before the instruction, in the order of their encoding */
    uint64_t pc;
    uint64_t xstate; /* 1 + number of the vector state, 0 if none was needed */
};

/* An instruction's copy. */
struct entry {
    uint64_t pc; /* 0 if free */
    uint64_t generation;
    uint8_t bytes[16]; /* what was copied ... */
    uint8_t mask[16];  /* ... and which of the bytes count */
    uint64_t handler;
    uint64_t next;    /* pc of the instruction after it */
    uint64_t target;  /* of a branch; or the scratch register's value; or a repeat_until */
    uint64_t scratch; /* address of the saved register that stands in for rip, 0 if none */
    uint8_t code[CODE_MAX];
    uint32_t pop; /* ret: bytes that leave the stack */
    uint32_t needs_xstate;
};

struct shared {
    uint64_t gpr[16];
    uint64_t flags;
    uint64_t pc;
    uint64_t generation;
    uint64_t code;    /* where to jump once the registers are the program's */
    uint64_t host_sp; /* the runner's own, meanwhile */
    uint64_t entry;   /* the entry and the record of the instruction being run */
    uint64_t record;
    uint32_t taken;
    uint32_t reason;
    uint32_t n_records;
    uint32_t n_xstates;
    uint32_t is_in_flight; /* the last record's instruction has not completed */
    uint32_t must_leave;
};

enum repeat_until { REPEAT_COUNT, REPEAT_WHILE_EQUAL, REPEAT_WHILE_DIFFERENT };

_Static_assert(sizeof(struct record) == RECORD_SIZE, "the runner knows the size");
_Static_assert(sizeof(struct entry) == ENTRY_SIZE, "the runner knows the size");
_Static_assert(RECORDS + RECORDS_MAX * RECORD_SIZE <= ENTRIES, "no overlap");
_Static_assert(XSTATES + XSTATES_MAX * XSTATE_SIZE <= RECORDS, "no overlap");

/* -- The runner -------------------------------------------------------------------------------- */

/*
 * Written in assembly because it may touch no vector register and call nobody. Numbers are offsets
 * of the structures above, checked below. Between exec and back the registers are the program's.
 * A handler is entered with rbx at the entry and rax at the pc, and leaves through `done` with the
 * next pc in rax.
 */
#define STRING_(x) #x
#define STRING(x)  STRING_(x)

#define GPR        "0"
#define FLAGS      "128"
#define PC         "136"
#define GENERATION "144"
#define CODE       "152"
#define HOST_SP    "160"
#define ENTRY      "168"
#define RECORD     "176"
#define TAKEN      "184"
#define REASON     "188"
#define N_RECORDS  "192"
#define N_XSTATES  "196"
#define IN_FLIGHT  "200"
#define MUST_LEAVE "204"

_Static_assert(offsetof(struct shared, flags) == 128, "FLAGS");
_Static_assert(offsetof(struct shared, pc) == 136, "PC");
_Static_assert(offsetof(struct shared, code) == 152, "CODE");
_Static_assert(offsetof(struct shared, record) == 176, "RECORD");
_Static_assert(offsetof(struct shared, must_leave) == 204, "MUST_LEAVE");
_Static_assert(offsetof(struct entry, handler) == 48, "entry.handler");
_Static_assert(offsetof(struct entry, code) == 80, "entry.code");
_Static_assert(offsetof(struct entry, pop) == 120, "entry.pop");

extern const uint8_t runner_begin[], runner_end[], runner_trap[], runner_back[], runner_taken[];
extern const uint8_t handle_slow[], handle_plain[], handle_branch[], handle_jump[], handle_call[];
extern const uint8_t handle_return[], handle_jump_to[], handle_call_to[], handle_repeat[];

#define M(offset) STRING(LANE_BASE) "+" offset /* a field of struct shared */

/* clang-format off */
__asm__(
    ".pushsection .text.runner, \"ax\", @progbits\n"
    "runner_begin:\n"
    "    mov  $" STRING(LANE_BASE) "+" STRING(STACK_TOP) ", %esp\n"
    ".Lnext:\n"
    "    mov  " M(PC) ", %rax\n"
    "    mov  $4, %ecx\n" /* LANE_LEFT */
    "    cmpl $0, " M(MUST_LEAVE) "\n"
    "    jne  .Lstop\n"
    "    mov  $3, %ecx\n" /* LANE_FULL */
    "    cmpl $" STRING(RECORDS_MAX) ", " M(N_RECORDS) "\n"
    "    jae  .Lstop\n"
    /* Find the entry: open addressing, one step at a time. */
    "    mov  %rax, %rbx\n"
    "    shr  $" STRING(ENTRY_BITS) ", %rbx\n"
    "    xor  %rax, %rbx\n"
    "    and  $(1 << " STRING(ENTRY_BITS) ") - 1, %ebx\n"
    "    shl  $7, %ebx\n"
    "    add  $" STRING(LANE_BASE) "+" STRING(ENTRIES) ", %ebx\n"
    "    mov  $1, %ecx\n" /* LANE_MISS */
    "1:  cmp  %rax, (%rbx)\n"
    "    je   2f\n"
    "    cmpq $0, (%rbx)\n"
    "    je   .Lstop\n"
    "    add  $" STRING(ENTRY_SIZE) ", %ebx\n"
    "    jmp  1b\n"
    "2:  mov  " M(GENERATION) ", %rdx\n"
    "    cmp  %rdx, 8(%rbx)\n"
    "    jne  .Lstop\n"
    /* Are the bytes still those that were copied? Near a page's end, read no more than they. */
    "    mov  %eax, %edx\n"
    "    and  $0xfff, %edx\n"
    "    cmp  $0xff0, %edx\n"
    "    ja   4f\n"
    "    mov  (%rax), %rdx\n"
    "    xor  16(%rbx), %rdx\n"
    "    and  32(%rbx), %rdx\n"
    "    jnz  .Lstop\n"
    "    mov  8(%rax), %rdx\n"
    "    xor  24(%rbx), %rdx\n"
    "    and  40(%rbx), %rdx\n"
    "    jnz  .Lstop\n"
    "3:  mov  %rbx, " M(ENTRY) "\n"
    "    jmp  *48(%rbx)\n"
    "4:  xor  %esi, %esi\n"
    "5:  cmpb $0, 32(%rbx, %rsi)\n"
    "    je   3b\n"
    "    mov  (%rax, %rsi), %dl\n"
    "    cmp  %dl, 16(%rbx, %rsi)\n"
    "    jne  .Lstop\n"
    "    inc  %esi\n"
    "    cmp  $16, %esi\n"
    "    jb   5b\n"
    "    jmp  3b\n"

    ".Ldone:\n"
    "    mov  %rax, " M(PC) "\n"
    "    movl $0, " M(IN_FLIGHT) "\n"
    "    jmp  .Lnext\n"
    ".Lstop:\n"
    "    mov  %ecx, " M(REASON) "\n"
    "runner_trap:\n"
    "    int3\n"
    "handle_slow:\n"
    "    mov  $2, %ecx\n" /* LANE_SLOW */
    "    jmp  .Lstop\n"

    /* Write the record of the instruction at rax, with the vector state if it needs it. */
    ".Lrecord:\n"
    "    imul $" STRING(RECORD_SIZE) ", " M(N_RECORDS) ", %edi\n"
    "    add  $" STRING(LANE_BASE) "+" STRING(RECORDS) ", %edi\n"
    "    mov  %rdi, " M(RECORD) "\n"
    "    .irp i, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "    mov  " M(GPR) " + 8 * \\i, %rdx\n"
    "    mov  %rdx, 8 * \\i(%rdi)\n"
    "    .endr\n"
    "    mov  %rax, 128(%rdi)\n"
    "    movq $0, 136(%rdi)\n"
    "    cmpl $0, 124(%rbx)\n"
    "    je   1f\n"
    "    mov  " M(N_XSTATES) ", %esi\n"
    "    mov  $3, %ecx\n"
    "    cmp  $" STRING(XSTATES_MAX) ", %esi\n"
    "    jae  .Lstop\n"
    "    incl " M(N_XSTATES) "\n"
    "    lea  1(%esi), %edx\n"
    "    mov  %rdx, 136(%rdi)\n"
    "    shl  $12, %esi\n"
    "    add  $" STRING(LANE_BASE) "+" STRING(XSTATES) ", %esi\n"
    "    mov  $0xe7, %eax\n"
    "    xor  %edx, %edx\n"
    "    xsave64 (%rsi)\n"
    "1:  incl " M(N_RECORDS) "\n"
    "    movl $1, " M(IN_FLIGHT) "\n"
    "    ret\n"

    /* Execute the entry's code with the program's registers, and take them back. */
    ".Lexec:\n"
    "    lea  80(%rbx), %rax\n"
    "    mov  %rax, " M(CODE) "\n"
    "    mov  64(%rbx), %rcx\n"
    "    mov  72(%rbx), %rdx\n"
    "    test %rdx, %rdx\n"
    "    jz   1f\n"
    "    mov  %rcx, (%rdx)\n"
    "1:  mov  %rsp, " M(HOST_SP) "\n"
    "    pushq " M(FLAGS) "\n"
    "    popfq\n"
    "    mov  " M(GPR) " + 0, %rax\n"
    "    mov  " M(GPR) " + 8, %rcx\n"
    "    mov  " M(GPR) " + 16, %rdx\n"
    "    mov  " M(GPR) " + 24, %rbx\n"
    "    mov  " M(GPR) " + 40, %rbp\n"
    "    mov  " M(GPR) " + 48, %rsi\n"
    "    mov  " M(GPR) " + 56, %rdi\n"
    "    .irp i, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "    mov  " M(GPR) " + 8 * \\i, %r\\i\n"
    "    .endr\n"
    "    mov  " M(GPR) " + 32, %rsp\n"
    "    jmp  *" M(CODE) "\n"
    "runner_taken:\n"
    "    movl $1, " M(TAKEN) "\n"
    "    jmp  1f\n"
    "runner_back:\n"
    "    movl $0, " M(TAKEN) "\n"
    "1:  mov  %rax, " M(GPR) " + 0\n"
    "    mov  %rcx, " M(GPR) " + 8\n"
    "    mov  %rdx, " M(GPR) " + 16\n"
    "    mov  %rbx, " M(GPR) " + 24\n"
    "    mov  %rsp, " M(GPR) " + 32\n"
    "    mov  %rbp, " M(GPR) " + 40\n"
    "    mov  %rsi, " M(GPR) " + 48\n"
    "    mov  %rdi, " M(GPR) " + 56\n"
    "    .irp i, 8, 9, 10, 11, 12, 13, 14, 15\n"
    "    mov  %r\\i, " M(GPR) " + 8 * \\i\n"
    "    .endr\n"
    "    mov  " M(HOST_SP) ", %rsp\n"
    "    pushfq\n"
    "    popq " M(FLAGS) "\n"
    "    cld\n"
    "    mov  " M(ENTRY) ", %rbx\n"
    "    mov  " M(RECORD) ", %rdi\n"
    "    mov  72(%rbx), %rdx\n" /* give the scratch register its value back */
    "    test %rdx, %rdx\n"
    "    jz   2f\n"
    "    mov  -" STRING(LANE_BASE) "(%rdi, %rdx), %rcx\n"
    "    mov  %rcx, (%rdx)\n"
    "2:  ret\n"

    "handle_plain:\n"
    "    call .Lrecord\n"
    "    call .Lexec\n"
    "    mov  56(%rbx), %rax\n"
    "    jmp  .Ldone\n"
    "handle_branch:\n"
    "    call .Lrecord\n"
    "    call .Lexec\n"
    "    mov  56(%rbx), %rax\n"
    "    cmpl $0, " M(TAKEN) "\n"
    "    cmovne 64(%rbx), %rax\n"
    "    jmp  .Ldone\n"
    "handle_jump:\n"
    "    call .Lrecord\n"
    "    mov  64(%rbx), %rax\n"
    "    jmp  .Ldone\n"
    "handle_call:\n"
    "    call .Lrecord\n"
    "    mov  64(%rbx), %rax\n"
    ".Lpush_return:\n"
    "    mov  " M(GPR) " + 32, %rcx\n"
    "    mov  56(%rbx), %rdx\n"
    "    mov  %rdx, -8(%rcx)\n"
    "    sub  $8, %rcx\n"
    "    mov  %rcx, " M(GPR) " + 32\n"
    "    jmp  .Ldone\n"
    "handle_return:\n"
    "    call .Lrecord\n"
    "    mov  " M(GPR) " + 32, %rcx\n"
    "    mov  (%rcx), %rax\n"
    "    mov  120(%rbx), %edx\n"
    "    add  %rdx, %rcx\n"
    "    mov  %rcx, " M(GPR) " + 32\n"
    "    jmp  .Ldone\n"
    /* The copy of an indirect branch is a mov of its operand to rax. */
    ".Lload_target:\n"
    "    call .Lexec\n"
    "    mov  " M(GPR) ", %rax\n"
    "    mov  (%rdi), %rdx\n"
    "    mov  %rdx, " M(GPR) "\n"
    "    ret\n"
    "handle_jump_to:\n"
    "    call .Lrecord\n"
    "    call .Lload_target\n"
    "    jmp  .Ldone\n"
    "handle_call_to:\n"
    "    call .Lrecord\n"
    "    call .Lload_target\n"
    "    jmp  .Lpush_return\n"
    /* One iteration. The copy has no rep prefix. */
    "handle_repeat:\n"
    "    call .Lrecord\n"
    "    mov  56(%rbx), %rax\n"
    "    cmpq $0, " M(GPR) " + 8\n"
    "    je   .Ldone\n"
    "    call .Lexec\n"
    "    mov  56(%rbx), %rax\n"
    "    decq " M(GPR) " + 8\n"
    "    jz   .Ldone\n"
    "    mov  " M(FLAGS) ", %ecx\n"
    "    shr  $6, %ecx\n"
    "    and  $1, %ecx\n"
    "    cmpl $1, 64(%rbx)\n"
    "    jb   2f\n"
    "    je   1f\n"
    "    xor  $1, %ecx\n"
    "1:  test %ecx, %ecx\n"
    "    jz   .Ldone\n"
    "2:  mov  (%rbx), %rax\n"
    "    jmp  .Ldone\n"
    "runner_end:\n"
    ".popsection\n");
/* clang-format on */

/* Where a label of the runner is in the program. */
static uint64_t in_program(const uint8_t *label)
{
    return LANE_BASE + RUNNER + (label - runner_begin);
}

/* -- The judge's side -------------------------------------------------------------------------- */

struct range {
    uint64_t begin, end;
};

struct lane {
    pid_t pid;
    int fd;
    uint8_t *view;      /* the shared memory as we see it */
    struct insn *insns; /* beside the entries: what accesses.c says about each */
    unsigned n_entries;
    struct range *executable; /* the program's executable mappings */
    unsigned n_executable;
    bool is_stale; /* they may have changed */
};

enum { N_SLOTS = (1 << ENTRY_BITS) + ENTRIES_SPARE, LANE_SIZE = ENTRIES + N_SLOTS * ENTRY_SIZE };

static struct shared *shared(const struct lane *l)
{
    return (struct shared *)l->view;
}

static struct entry *entry_at(const struct lane *l, unsigned slot)
{
    return (struct entry *)(l->view + ENTRIES) + slot;
}

/* The slot of a pc, or the free one where it belongs. */
static unsigned slot_of(const struct lane *l, uint64_t pc)
{
    unsigned slot = (pc ^ pc >> ENTRY_BITS) & ((1 << ENTRY_BITS) - 1);

    while (entry_at(l, slot)->pc && entry_at(l, slot)->pc != pc)
        slot++;
    return slot;
}

static void forget_all(struct lane *l)
{
    memset(l->view + ENTRIES, 0, LANE_SIZE - ENTRIES);
    l->n_entries = 0;
}

struct lane *lane_open(void)
{
    struct lane *l = calloc(1, sizeof *l);

    if (!l)
        return NULL;
    l->insns = calloc(N_SLOTS, sizeof *l->insns);
    l->fd = memfd_create("judge's lane", MFD_CLOEXEC);
    if (!l->insns || l->fd < 0 || ftruncate(l->fd, LANE_SIZE) < 0)
        return NULL;
    l->view = mmap(NULL, LANE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, l->fd, 0);
    if (l->view == MAP_FAILED)
        return NULL;
    memcpy(l->view + RUNNER, runner_begin, runner_end - runner_begin);
    return l;
}

/* -- Mapping the lane into the program --------------------------------------------------------- */

/* Make the program do one system call. It is stopped at code that we borrow for a moment. */
static long call_in_program(pid_t pid, long number, const uint64_t a[6])
{
    struct user_regs_struct saved, r;
    long word, result;
    int status;

    if (ptrace(PTRACE_GETREGS, pid, NULL, &saved) < 0)
        return -1;
    word = ptrace(PTRACE_PEEKTEXT, pid, (void *)saved.rip, NULL);
    ptrace(PTRACE_POKETEXT, pid, (void *)saved.rip, (void *)0xcc050fl); /* syscall; int3 */
    r = saved;
    r.rax = number;
    r.orig_rax = -1;
    r.rdi = a[0], r.rsi = a[1], r.rdx = a[2], r.r10 = a[3], r.r8 = a[4], r.r9 = a[5];
    ptrace(PTRACE_SETREGS, pid, NULL, &r);
    ptrace(PTRACE_CONT, pid, NULL, NULL);
    if (waitpid(pid, &status, __WALL) < 0 || !WIFSTOPPED(status))
        return -1;
    ptrace(PTRACE_GETREGS, pid, NULL, &r);
    result = r.rax;
    ptrace(PTRACE_POKETEXT, pid, (void *)saved.rip, (void *)word);
    saved.orig_rax = -1;
    ptrace(PTRACE_SETREGS, pid, NULL, &saved);
    return result;
}

/* Open our memory file in the program. Its name lies below the stack for the time being. */
static long open_in_program(const struct lane *l, pid_t pid, uint64_t sp)
{
    char name[64] = "", old[64];
    uint64_t at = (sp - 1024) & ~63ull;
    struct iovec ours = {name, sizeof name}, saved = {old, sizeof old}, theirs = {(void *)at, 64};
    long fd;

    snprintf(name, sizeof name, "/proc/%ld/fd/%d", syscall(SYS_getpid), l->fd);
    if (process_vm_readv(pid, &saved, 1, &theirs, 1, 0) != sizeof old ||
        process_vm_writev(pid, &ours, 1, &theirs, 1, 0) != sizeof name)
        return -1;
    fd = call_in_program(pid, SYS_open, (uint64_t[6]){at, O_RDWR});
    process_vm_writev(pid, &saved, 1, &theirs, 1, 0);
    return fd;
}

bool lane_attach(struct lane *l, pid_t pid)
{
    struct user_regs_struct r;
    long fd, at;

    l->pid = pid;
    l->is_stale = true;
    memset(l->view, 0, RUNNER);
    forget_all(l);
    if (ptrace(PTRACE_GETREGS, pid, NULL, &r) < 0)
        return false;
    fd = open_in_program(l, pid, r.rsp);
    if (fd < 0)
        return false;
    at = call_in_program(pid, SYS_mmap,
                         (uint64_t[6]){LANE_BASE, LANE_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
                                       MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0});
    call_in_program(pid, SYS_close, (uint64_t[6]){fd});
    return at == LANE_BASE;
}

/* -- Going in and out -------------------------------------------------------------------------- */

static void gpr_from_regs(uint64_t gpr[16], const struct user_regs_struct *r)
{
    const uint64_t values[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp, r->rsi, r->rdi,
                                 r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

    memcpy(gpr, values, sizeof values);
}

static void regs_from_gpr(struct user_regs_struct *r, const uint64_t gpr[16])
{
    r->rax = gpr[0], r->rcx = gpr[1], r->rdx = gpr[2], r->rbx = gpr[3];
    r->rsp = gpr[4], r->rbp = gpr[5], r->rsi = gpr[6], r->rdi = gpr[7];
    r->r8 = gpr[8], r->r9 = gpr[9], r->r10 = gpr[10], r->r11 = gpr[11];
    r->r12 = gpr[12], r->r13 = gpr[13], r->r14 = gpr[14], r->r15 = gpr[15];
}

void lane_enter(struct lane *l, const struct user_regs_struct *regs)
{
    struct shared *sh = shared(l);
    struct user_regs_struct r = *regs;

    gpr_from_regs(sh->gpr, regs);
    sh->flags = regs->eflags;
    sh->pc = regs->rip;
    sh->n_records = sh->n_xstates = sh->is_in_flight = sh->must_leave = 0;
    r.rip = in_program(runner_begin);
    r.orig_rax = -1;
    if (ptrace(PTRACE_SETREGS, l->pid, NULL, &r) < 0)
        abort();
}

bool lane_has_stopped(uint64_t pc)
{
    return pc == in_program(runner_trap) + 1;
}

enum lane_stop lane_reason(const struct lane *l)
{
    return shared(l)->reason;
}

void lane_leave(struct lane *l)
{
    shared(l)->must_leave = 1;
}

unsigned lane_count(const struct lane *l)
{
    return shared(l)->n_records;
}

static const struct record *record_at(const struct lane *l, unsigned i)
{
    return (const struct record *)(l->view + RECORDS) + i;
}

void lane_forget_unfinished(struct lane *l)
{
    struct shared *sh = shared(l);
    const struct record *last = record_at(l, sh->n_records - 1);

    if (!sh->is_in_flight)
        return;
    memcpy(sh->gpr, last->gpr, sizeof sh->gpr);
    sh->pc = last->pc;
    sh->n_records--;
    sh->is_in_flight = 0;
}

const struct insn *lane_record(const struct lane *l, unsigned i, struct machine *m)
{
    const struct shared *sh = shared(l);
    const struct record *r = record_at(l, i);

    m->has_xstate = false;
    if (i == sh->n_records) {
        regs_from_gpr(&m->regs, sh->gpr);
        m->regs.rip = sh->pc;
        m->regs.eflags = sh->flags;
        return NULL;
    }
    regs_from_gpr(&m->regs, r->gpr);
    m->regs.rip = r->pc;
    if (r->xstate) {
        memcpy(m->xstate, l->view + XSTATES + (r->xstate - 1) * XSTATE_SIZE, XSTATE_SIZE);
        m->has_xstate = true;
    }
    return &l->insns[slot_of(l, r->pc)];
}

/* -- Which code may run at all ----------------------------------------------------------------- */

static void read_executable(struct lane *l)
{
    char path[64], line[512], x;
    struct range r;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/maps", l->pid);
    f = fopen(path, "r");
    if (!f)
        abort();
    l->n_executable = 0;
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%lx-%lx %*c%*c%c", &r.begin, &r.end, &x) != 3 || x != 'x')
            continue;
        l->executable = realloc(l->executable, (l->n_executable + 1) * sizeof r);
        if (!l->executable)
            abort();
        l->executable[l->n_executable++] = r;
    }
    fclose(f);
    l->is_stale = false;
}

static bool is_executable(struct lane *l, uint64_t pc)
{
    if (l->is_stale)
        read_executable(l);
    for (unsigned i = 0; i < l->n_executable; i++)
        if (pc >= l->executable[i].begin && pc < l->executable[i].end)
            return true;
    return false;
}

void lane_watch_syscall(struct lane *l, const struct user_regs_struct *regs)
{
    uint64_t begin = regs->rdi, end = regs->rdi + regs->rsi;

    switch (regs->rax) {
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case SYS_pkey_mprotect:
    case SYS_shmat:
    case SYS_shmdt:
        break;
    default:
        return;
    }
    /* Copies of code that this may take away must be asked for again. */
    for (unsigned i = 0; i < l->n_executable; i++)
        if (begin < l->executable[i].end && end > l->executable[i].begin)
            shared(l)->generation++;
    l->is_stale = true;
}

/* -- Copies ------------------------------------------------------------------------------------ */

struct parsed {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

static bool writes_segment(const struct parsed *p)
{
    if (p->i.mnemonic == ZYDIS_MNEMONIC_WRFSBASE || p->i.mnemonic == ZYDIS_MNEMONIC_WRGSBASE)
        return true;
    for (unsigned i = 0; i < p->i.operand_count; i++)
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            p->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
            ZydisRegisterGetClass(p->op[i].reg.value) == ZYDIS_REGCLASS_SEGMENT)
            return true;
    return false;
}

static bool uses_rip(const struct parsed *p)
{
    for (unsigned i = 0; i < p->i.operand_count; i++)
        if (p->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (p->op[i].mem.base == ZYDIS_REGISTER_RIP || p->op[i].mem.base == ZYDIS_REGISTER_EIP))
            return true;
    return false;
}

static unsigned general_bit(ZydisRegister r)
{
    ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

    if (r == ZYDIS_REGISTER_NONE || ZydisRegisterGetClass(whole) != ZYDIS_REGCLASS_GPR64)
        return 0;
    return 1u << ZydisRegisterGetId(whole);
}

/* A register that the instruction has nothing to do with; rax is kept for branch targets. */
static int pick_scratch(const struct parsed *p)
{
    static const uint8_t candidates[] = {3, 6, 7, 2, 1}; /* rbx, rsi, rdi, rdx, rcx: no REX.B */
    unsigned used = 0;

    for (unsigned i = 0; i < p->i.operand_count; i++) {
        const ZydisDecodedOperand *o = &p->op[i];

        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER)
            used |= general_bit(o->reg.value);
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
            used |= general_bit(o->mem.base) | general_bit(o->mem.index);
    }
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (!(used >> candidates[i] & 1))
            return candidates[i];
    return -1;
}

/* Turn [rip + d] into [scratch + 0]: same length, and whatever bit extends the base cleared. */
static bool replace_rip(struct entry *e, const struct parsed *p)
{
    int scratch = pick_scratch(p);
    uint8_t *modrm = &e->code[p->i.raw.modrm.offset];

    if (scratch < 0 || p->i.address_width != 64)
        return false;
    *modrm = (*modrm & 0x38) | 0x80 | scratch;
    memset(&e->code[p->i.raw.disp.offset], 0, 4);
    switch (p->i.encoding) {
    case ZYDIS_INSTRUCTION_ENCODING_LEGACY:
        if (p->i.attributes & ZYDIS_ATTRIB_HAS_REX)
            e->code[p->i.raw.rex.offset] &= ~1;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_VEX:
        if (p->i.raw.vex.size == 3)
            e->code[p->i.raw.vex.offset + 1] |= 0x20;
        break;
    case ZYDIS_INSTRUCTION_ENCODING_EVEX:
        e->code[p->i.raw.evex.offset + 1] |= 0x60;
        break;
    default:
        return false;
    }
    e->scratch = LANE_BASE + 8 * scratch;
    e->target = e->next + p->i.raw.disp.value;
    return true;
}

/* Append a jump from the copy back to the runner. */
static unsigned put_jump(struct entry *e, uint64_t at, unsigned n, const uint8_t *label)
{
    int32_t distance = in_program(label) - (at + offsetof(struct entry, code) + n + 5);

    e->code[n] = 0xe9;
    memcpy(&e->code[n + 1], &distance, 4);
    return n + 5;
}

/* jcc, loop, jrcxz: the same condition, with a way back to the runner for each outcome. */
static bool copy_branch(struct entry *e, uint64_t at, const struct parsed *p)
{
    bool is_short = p->i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && p->i.opcode >> 4 == 7;
    bool is_near = p->i.opcode_map == ZYDIS_OPCODE_MAP_0F && p->i.opcode >> 4 == 8;
    bool is_count = p->i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && p->i.opcode >> 2 == 0xe0 >> 2;
    unsigned n = 0;

    if (p->i.address_width != 64 || !(is_short || is_near || is_count))
        return false;
    e->handler = in_program(handle_branch);
    e->target = e->next + p->op[0].imm.value.s;
    e->code[n++] = is_count ? p->i.opcode : 0x70 | (p->i.opcode & 15);
    e->code[n++] = 5; /* over the first jump */
    n = put_jump(e, at, n, runner_back);
    put_jump(e, at, n, runner_taken);
    return true;
}

/* jmp m and call m: mov rax, m, with the operand's bytes as they are. */
static bool copy_indirect(struct entry *e, uint64_t at, const struct parsed *p)
{
    unsigned from = p->i.raw.modrm.offset, n = 0;
    bool is_rip = uses_rip(p);

    if (p->i.address_width != 64)
        return false;
    if (is_rip && !replace_rip(e, p))
        return false;
    memmove(&e->code[8], &e->code[from], p->i.length - from);
    if (p->i.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS)
        e->code[n++] = 0x64;
    if (p->i.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS)
        e->code[n++] = 0x65;
    e->code[n++] = 0x48 | p->i.raw.rex.X << 1 | (is_rip ? 0 : p->i.raw.rex.B);
    e->code[n++] = 0x8b;
    memmove(&e->code[n], &e->code[8], p->i.length - from);
    e->code[n] &= ~0x38; /* rax */
    put_jump(e, at, n + p->i.length - from, runner_back);
    return true;
}

/* A rep string instruction without its rep: what an iteration does. A REX before the rep was idle
 * and must not become real. */
static bool copy_repeat(struct entry *e, uint64_t at, const struct parsed *p)
{
    unsigned n = 0;
    bool compares =
        p->i.opcode == 0xa6 || p->i.opcode == 0xa7 || p->i.opcode == 0xae || p->i.opcode == 0xaf;

    if (p->i.address_width != 64)
        return false;
    e->handler = in_program(handle_repeat);
    e->target = REPEAT_COUNT;
    for (unsigned i = 0; i < p->i.length; i++) {
        if (e->code[i] != 0xf2 && e->code[i] != 0xf3) {
            e->code[n++] = e->code[i];
            continue;
        }
        if (n && (e->code[n - 1] & 0xf0) == 0x40)
            n--;
        if (compares)
            e->target = e->code[i] == 0xf3 ? REPEAT_WHILE_EQUAL : REPEAT_WHILE_DIFFERENT;
    }
    put_jump(e, at, n, runner_back);
    return true;
}

static bool needs_xstate(enum shape shape)
{
    switch (shape) {
    case BYTE_MASK:
    case SIGN_MASK:
    case BIT_MASK:
    case PACKED:
    case ANY_BIT:
    case VECTOR:
        return true;
    default:
        return false;
    }
}

static bool copy_transfer(struct entry *e, uint64_t at, const struct parsed *p)
{
    bool is_call = p->i.mnemonic == ZYDIS_MNEMONIC_CALL;

    if (p->i.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return false;
    if (p->i.mnemonic == ZYDIS_MNEMONIC_RET) {
        e->handler = in_program(handle_return);
        e->pop = 8 + (p->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE ? p->op[0].imm.value.u : 0);
        return true;
    }
    if (p->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        e->handler = in_program(is_call ? handle_call : handle_jump);
        e->target = e->next + p->op[0].imm.value.s;
        return true;
    }
    e->handler = in_program(is_call ? handle_call_to : handle_jump_to);
    return copy_indirect(e, at, p);
}

/* Build the copy; false if the instruction must be stepped. */
static bool copy(struct entry *e, uint64_t at, const struct insn *in, const struct parsed *p)
{
    if (in->is_syscall || in->is_trap || in->shape == LOAD_AREA || writes_segment(p))
        return false;
    e->needs_xstate = needs_xstate(in->shape);
    memcpy(e->code, in->bytes, in->length);
    switch (p->i.meta.category) {
    case ZYDIS_CATEGORY_COND_BR:
        return copy_branch(e, at, p);
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_RET:
        return copy_transfer(e, at, p);
    default:
        break;
    }
    if (p->i.meta.branch_type != ZYDIS_BRANCH_TYPE_NONE)
        return false;
    if (in->is_repeated)
        return copy_repeat(e, at, p);
    e->handler = in_program(handle_plain);
    put_jump(e, at, in->length, runner_back);
    return !uses_rip(p) || replace_rip(e, p);
}

/* Supply one instruction; returns its length, 0 if there is no use in going on after it. */
static unsigned supply_one(struct lane *l, uint64_t pc, const uint8_t *bytes, unsigned n)
{
    static ZydisDecoder decoder;
    unsigned slot = slot_of(l, pc);
    struct entry *e = entry_at(l, slot);
    struct insn *in = &l->insns[slot];
    struct parsed p;
    uint64_t at = LANE_BASE + ENTRIES + slot * ENTRY_SIZE;

    if (decoder.stack_width != ZYDIS_STACK_WIDTH_64) {
        ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
        ZydisDecoderEnableMode(&decoder, ZYDIS_DECODER_MODE_MPX, ZYAN_FALSE); /* nops */
    }
    l->n_entries += e->pc == 0;
    *e = (struct entry){.pc = pc, .generation = shared(l)->generation};
    e->handler = in_program(handle_slow);
    if (!is_executable(l, pc) || insn_decode(in, pc, bytes, n) ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, n, &p.i, p.op)))
        return 0;
    memcpy(e->bytes, in->bytes, in->length);
    memset(e->mask, 0xff, in->length);
    e->next = pc + in->length;
    if (!copy(e, at, in, &p))
        e->handler = in_program(handle_slow);
    return p.i.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE ? in->length : 0;
}

void lane_supply(struct lane *l)
{
    enum { AHEAD = 256, BLOCK = 32 };
    uint64_t pc = shared(l)->pc;
    uint8_t bytes[AHEAD + INSN_BYTES];
    unsigned until_page = 4096 - (pc & 4095);
    unsigned first = until_page < sizeof bytes ? until_page : sizeof bytes;
    struct iovec here = {bytes, sizeof bytes};
    struct iovec there[2] = {{(void *)pc, first}, {(void *)(pc + first), sizeof bytes - first}};
    ssize_t n = process_vm_readv(l->pid, &here, 1, there, 2, 0);
    unsigned at = 0;

    if (l->n_entries > (1 << ENTRY_BITS) / 2)
        forget_all(l);
    for (unsigned i = 0; i < BLOCK && (ssize_t)at < n; i++) {
        unsigned rest = n - at < INSN_BYTES ? n - at : INSN_BYTES;
        unsigned length;

        /* An instruction cut off by the end of what was read is asked for when it is met. */
        if (i > 0 && rest < INSN_BYTES)
            break;
        length = supply_one(l, pc + at, bytes + at, rest);
        if (!length)
            break;
        at += length;
    }
    if (n <= 0)
        supply_one(l, pc, bytes, 0);
}
