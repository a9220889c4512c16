/* SPDX-License-Identifier: MIT */
/* long: 300000 */
/* What is translated again as one long path, because it ran so often, does now and then what the path did not foresee: returns and
 * indirect branches go elsewhere, flags are read where they never were, faults come from its middle, with every register in use. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

static long rounds = 60000;
enum { RARE = 997 };

static int is_rare(long i)
{
    return i % RARE == RARE - 1;
}

static int failed;
static void expect(int held, const char *what, long i)
{
    if (held)
        return;
    if (!failed++)
        fprintf(stderr, "%s, round %ld\n", what, i);
}

/* -- Returns ---------------------------------------------------------------------------------- */

/* returns_to(p): if p is not 0, the callee puts p in the place of its return address. Returns 1 behind the call,
 * 2 at `elsewhere`. The callee also has data below its stack pointer, which must survive the way out of the path. */
__asm__(".text\n"
        "returns_to:\n"
        "        call 5f\n"
        "        movl $1, %eax\n"
        "        ret\n"
        "5:      movq $77, -8(%rsp)\n"
        "        movq $78, -16(%rsp)\n"
        "        leaq (%rsp), %rcx\n"
        "        movq (%rsp), %rax\n"
        "        testq %rdi, %rdi\n"
        "        cmovnzq %rdi, %rax\n" /* no branch: the path is the same, until the return */
        "        movq %rax, (%rcx)\n"
        "        movq -8(%rsp), %rdx\n"
        "        addq -16(%rsp), %rdx\n"
        "        movq %rdx, below(%rip)\n"
        "        ret\n"
        "elsewhere:\n"
        "        movl $2, %eax\n"
        "        ret\n"
        ".local below\n.comm below,8,8\n"
        ".globl get_below\nget_below: movq below(%rip), %rax\n ret\n");
extern int returns_to(const void *);
extern const char elsewhere[];
extern long get_below(void);

static void returns_go_elsewhere(void)
{
    for (long i = 0; i < rounds; i++) {
        int rare = is_rare(i);
        expect(returns_to(rare ? elsewhere : NULL) == (rare ? 2 : 1), "a return went wrong", i);
        expect(get_below() == 155, "data below the stack pointer is lost", i);
    }
}

/* A routine that answers with the carry flag; most callers ignore it. */
__asm__(".text\n"
        "carry:  cmpl $5, %edi\n" /* carry: below 5 */
        "        ret\n"
        "ignores: call carry\n"
        "        xorl %eax, %eax\n"
        "        ret\n"
        "reads_carry: call carry\n"
        "        setc %al\n"
        "        movzbl %al, %eax\n"
        "        ret\n"
        /* the same by an indirect jump: the target tells */
        "jumps:  cmpl $5, %edi\n"
        "        jmp *%rsi\n"
        "no_flags: movl $7, %eax\n"
        "        ret\n"
        "all_flags: lahf\n"
        "        seto %al\n"
        "        movzwl %ax, %eax\n"
        "        ret\n");
extern int ignores(int), reads_carry(int), jumps(int, const void *);
extern const char no_flags[], all_flags[];

static void flags_are_read_at_last(void)
{
    for (long i = 0; i < rounds; i++) {
        expect(ignores((int)i) == 0, "a result is wrong", i);
        if (is_rare(i))
            expect(reads_carry((int)(i % 9)) == (i % 9 < 5), "a flag is wrong behind a return", i);
        expect(jumps((int)i, no_flags) == 7, "a jump went wrong", i);
        if (is_rare(i)) {
            int n = (int)(i % 9), ax = jumps(n, all_flags);
            /* ah: SF ZF 0 AF 0 PF 1 CF */
            expect((ax >> 8 & 1) == (n < 5) && (ax >> 14 & 1) == (n == 5) && (ax & 1) == 0,
                   "flags are wrong behind a jump", i);
        }
    }
}

/* -- Calls ------------------------------------------------------------------------------------ */

static long depth_sum(long n)
{
    return n ? 1 + depth_sum(n - 1) : 0;
}

typedef long (*callee)(long);
static __attribute__((noinline)) long twice(long n)
{
    return 2 * n;
}
static __attribute__((noinline)) long thrice(long n)
{
    return 3 * n;
}

static void calls_change_their_mind(void)
{
    volatile callee f[2] = {twice, thrice};
    for (long i = 0; i < rounds; i++) {
        int rare = is_rare(i);
        expect(f[rare](i) == (rare ? 3 : 2) * i, "an indirect call went wrong", i);
        if (i % 16 == 0)
            expect(depth_sum(rare ? 200 : 24) == (rare ? 200 : 24), "a recursion went wrong", i);
    }
}

/* -- Faults ----------------------------------------------------------------------------------- */

/* A loop with every register in use, r11 above all, reads one array; in a rare round its last element lies in a page that cannot be read.
 * The handler checks all registers and gives it a page that can. */
static volatile int faults;
static uint64_t seen[16];

static void on_fault(int sig, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    (void)sig;
    static const int reg[16] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RSP};
    for (int i = 0; i < 16; i++)
        seen[i] = (uint64_t)u->uc_mcontext.gregs[reg[i]];
    mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096, PROT_READ | PROT_WRITE);
    faults++;
}

/* sum8(p): adds the 8 words at p with r11 as the sum; other registers hold numbers of their own. */
__asm__(".text\n"
        "sum8:   push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "        movl $101, %ebx\n movl $102, %ecx\n movl $103, %edx\n movl $104, %esi\n"
        "        movl $107, %r8d\n movl $108, %r9d\n movl $109, %r10d\n"
        "        movl $112, %r12d\n movl $113, %r13d\n"
        "        xorl %r11d, %r11d\n"
        "        movl $8, %eax\n"
        "1:      addq (%rdi), %r11\n"
        "        addq $8, %rdi\n"
        "        decl %eax\n"
        "        jnz 1b\n"
        "        movq %r11, %rax\n"
        "        addq %rbx, %rax\n addq %rcx, %rax\n addq %rdx, %rax\n addq %rsi, %rax\n addq %r8, %rax\n addq %r9, %rax\n"
        "        addq %r10, %rax\n addq %r12, %rax\n addq %r13, %rax\n"
        "        pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n"
        "        ret\n");
extern uint64_t sum8(const uint64_t *);

static void faults_are_precise(void)
{
    const uint64_t rest = 101 + 102 + 103 + 104 + 107 + 108 + 109 + 112 + 113;
    uint8_t *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t *inside = (uint64_t *)two, *across = (uint64_t *)(two + 4096 - 40); /* five words before the edge */
    struct sigaction a = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &a, NULL);
    for (int i = 0; i < 8; i++)
        inside[i] = across[i] = (uint64_t)(1 << i);
    for (long i = 0; i < rounds; i++) {
        int rare = is_rare(i), before = faults;
        if (rare)
            mprotect(two + 4096, 4096, PROT_NONE);
        expect(sum8(rare ? across : inside) == 255 + rest, "a sum is wrong", i);
        expect(faults == before + rare, "a fault is missing", i);
        if (!rare)
            continue;
        expect(seen[0] == 3 && seen[1] == 101 && seen[2] == 102 && seen[3] == 103 && seen[4] == 104 &&
                   seen[5] == (uint64_t)(across + 5) && seen[7] == 107 && seen[8] == 108 && seen[9] == 109 && seen[10] == 31 &&
                   seen[11] == 112 && seen[12] == 113,
               "a handler saw wrong registers", i);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        rounds = atol(argv[1]);
    returns_go_elsewhere();
    flags_are_read_at_last();
    calls_change_their_mind();
    faults_are_precise();
    printf("%s\n", failed ? "failed" : "held");
    return failed != 0;
}
