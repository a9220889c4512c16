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
 *   LANE_BASE  registers and orders | the runner's stack | the runner | vector states | records | entries
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
    uint64_t next;        /* pc of the instruction after it */
    uint64_t target;      /* of a branch; or what goes into the scratch register; or a repeat_until */
    uint64_t scratch;     /* address of the saved register that stands in for rip, 0 if none */
    uint8_t code[CODE_MAX];
    uint32_t pop;         /* ret: bytes that leave the stack */
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
#define STRING(x)  STRING_(x)
#define STRING_(x) #x
#define AT(offset) STRING(LANE_BASE) " + " #offset

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

#define M(offset) STRING(LANE_BASE) "+" offset

__asm__(
    ".pushsection .text.runner, \"ax\", @progbits\n"
    "runner_begin:\n"
    "    mov  $" STRING(LANE_BASE) "+" STRING(STACK_TOP) ", %esp\n"
    "next:\n"
    "    mov  " M(PC) ", %rax\n"
    "    mov  $4, %ecx\n" /* LANE_LEFT */
    "    cmpl $0, " M(MUST_LEAVE) "\n"
    "    jne  stop\n"
    "    mov  $3, %ecx\n" /* LANE_FULL */
    "    cmpl $" STRING(RECORDS_MAX) ", " M(N_RECORDS) "\n"
    "    jae  stop\n"
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
    "    je   stop\n"
    "    add  $" STRING(ENTRY_SIZE) ", %ebx\n"
    "    jmp  1b\n"
    "2:  mov  " M(GENERATION) ", %rdx\n"
    "    cmp  %rdx, 8(%rbx)\n"
    "    jne  stop\n"
    /* Are the bytes still those that were copied? Near the end of a page, read no more than they. */
    "    mov  %eax, %edx\n"
    "    and  $0xfff, %edx\n"
    "    cmp  $0xff0, %edx\n"
    "    ja   4f\n"
    "    mov  (%rax), %rdx\n"
    "    xor  16(%rbx), %rdx\n"
    "    and  32(%rbx), %rdx\n"
    "    jnz  stop\n"
    "    mov  8(%rax), %rdx\n"
    "    xor  24(%rbx), %rdx\n"
    "    and  40(%rbx), %rdx\n"
    "    jnz  stop\n"
    "3:  mov  %rbx, " M(ENTRY) "\n"
    "    jmp  *48(%rbx)\n"
    "4:  xor  %esi, %esi\n"
    "5:  cmpb $0, 32(%rbx, %rsi)\n"
    "    je   3b\n"
    "    mov  (%rax, %rsi), %dl\n"
    "    cmp  %dl, 16(%rbx, %rsi)\n"
    "    jne  stop\n"
    "    inc  %esi\n"
    "    cmp  $16, %esi\n"
    "    jb   5b\n"
    "    jmp  3b\n"

    "done:\n"
    "    mov  %rax, " M(PC) "\n"
    "    movl $0, " M(IN_FLIGHT) "\n"
    "    jmp  next\n"
    "stop:\n"
    "    mov  %ecx, " M(REASON) "\n"
    "runner_trap:\n"
    "    int3\n"
    "handle_slow:\n"
    "    mov  $2, %ecx\n" /* LANE_SLOW */
    "    jmp  stop\n"

    /* Write the record of the instruction at rax, with the vector state if it needs it. */
    "record:\n"
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
    "    jae  stop\n"
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
    "exec:\n"
    "    lea  80(%rbx), %rax\n"
    "    mov  %rax, " M(CODE) "\n"
    "    mov  64(%rbx), %rcx\n"
    "    mov  72(%rbx), %rdx\n"
    "    test %rdx, %rdx\n"
    "    jz   1f\n"
    "    mov  %rcx, (%rdx)\n"
    "1:  mov  %rsp, " M(HOST_SP) "\n"
    "    push " M(FLAGS) "\n"
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
    "    call record\n"
    "    call exec\n"
    "    mov  56(%rbx), %rax\n"
    "    jmp  done\n"
    "handle_branch:\n"
    "    call record\n"
    "    call exec\n"
    "    mov  56(%rbx), %rax\n"
    "    cmpl $0, " M(TAKEN) "\n"
    "    cmovne 64(%rbx), %rax\n"
    "    jmp  done\n"
    "handle_jump:\n"
    "    call record\n"
    "    mov  64(%rbx), %rax\n"
    "    jmp  done\n"
    "handle_call:\n"
    "    call record\n"
    "    mov  64(%rbx), %rax\n"
    "push_return:\n"
    "    mov  " M(GPR) " + 32, %rcx\n"
    "    mov  56(%rbx), %rdx\n"
    "    mov  %rdx, -8(%rcx)\n"
    "    sub  $8, %rcx\n"
    "    mov  %rcx, " M(GPR) " + 32\n"
    "    jmp  done\n"
    "handle_return:\n"
    "    call record\n"
    "    mov  " M(GPR) " + 32, %rcx\n"
    "    mov  (%rcx), %rax\n"
    "    mov  120(%rbx), %edx\n"
    "    add  %rdx, %rcx\n"
    "    mov  %rcx, " M(GPR) " + 32\n"
    "    jmp  done\n"
    /* The copy of an indirect branch is a mov of its operand to rax. */
    "load_target:\n"
    "    call exec\n"
    "    mov  " M(GPR) ", %rax\n"
    "    mov  (%rdi), %rdx\n"
    "    mov  %rdx, " M(GPR) "\n"
    "    ret\n"
    "handle_jump_to:\n"
    "    call record\n"
    "    call load_target\n"
    "    jmp  done\n"
    "handle_call_to:\n"
    "    call record\n"
    "    call load_target\n"
    "    jmp  push_return\n"
    /* One iteration. The copy has no rep prefix. */
    "handle_repeat:\n"
    "    call record\n"
    "    mov  56(%rbx), %rax\n"
    "    cmpq $0, " M(GPR) " + 8\n"
    "    je   done\n"
    "    call exec\n"
    "    mov  56(%rbx), %rax\n"
    "    decq " M(GPR) " + 8\n"
    "    jz   done\n"
    "    mov  " M(FLAGS) ", %ecx\n"
    "    shr  $6, %ecx\n"
    "    and  $1, %ecx\n"
    "    cmpl $1, 64(%rbx)\n"
    "    jb   2f\n"
    "    je   1f\n"
    "    xor  $1, %ecx\n"
    "1:  test %ecx, %ecx\n"
    "    jz   done\n"
    "2:  mov  (%rbx), %rax\n"
    "    jmp  done\n"
    "runner_end:\n"
    ".popsection\n");

/* Where a label of the runner is in the program. */
static uint64_t in_program(const uint8_t *label)
{
    return LANE_BASE + RUNNER + (label - runner_begin);
}
