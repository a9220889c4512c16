/* SPDX-License-Identifier: MIT */
/* Faults in instructions whose operands an engine may have to rewrite (r11, rip-relative, stack, gs, implied ones): the
 * handler sees the pc, the address and all registers and flags from before the instruction; mended and resumed, the
 * instruction happens exactly once. */
#include "check.h"

/* One page that faults or not; trap_page is at a fixed distance from the code. */
char trap_page[2 * PAGE] __attribute__((aligned(PAGE)));
long regs_in[17], regs_out[17];
void *own_stack;
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, RSP, FLAGS, REGS };
static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                            REG_RBP, REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12,
                            REG_R13, REG_R14, REG_R15, REG_RSP, REG_EFL};
static const char *const reg_name[] = {"rax", "rbx", "rcx", "rdx", "rsi",  "rdi",
                                       "rbp", "r8",  "r9",  "r10", "r11",  "r12",
                                       "r13", "r14", "r15", "rsp", "flags"};
enum {
    ARITHMETIC = 0x8d5,
    GOOD_RSP = 1,
    WORD_IS_AFTER = 2,
    STORES = 4,
    FLAGS_UNSURE = 8,
    ADDRESS_UNSURE = 16
};

struct insn_case {
    void (*run)(void);
    const char *at, *after, *text;
    int32_t offset; /* of the first address to fault, from the page */
    int32_t kind;
};
extern const struct insn_case cases[], cases_end[];

/* Load all registers, run one instruction, store all; a case stands in a table by itself. */
asm(".section .data.rel.ro.cases, \"aw\"\n"
    ".balign 8\n"
    ".globl cases\n"
    "cases:\n"
    ".text\n"
    ".macro CASE offset, kind, insn:vararg\n"
    "770:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rsp, own_stack(%rip)\n"
    "    pushq 16*8+regs_in(%rip)\n"
    "    popfq\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15,rsp\n"
    "    mov at+regs_in(%rip), %\\r\n"
    "at = at + 8\n"
    ".endr\n"
    "771: \\insn\n"
    "772:\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15,rsp\n"
    "    mov %\\r, at+regs_out(%rip)\n"
    "at = at + 8\n"
    ".endr\n"
    "    mov own_stack(%rip), %rsp\n"
    "    pushfq\n"
    "    popq 16*8+regs_out(%rip)\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n"
    "773: .asciz \"\\insn\"\n"
    ".pushsection .data.rel.ro.cases, \"aw\"\n"
    "    .quad 770b, 771b, 772b, 773b\n"
    "    .long \\offset, \\kind\n"
    ".popsection\n"
    ".endm\n"
    /* rax, rbx, r11, rsp, rbp, rsi, rdi lead into the page at 256, 512, 1024, 2048, 1536, 768, 3072; rcx is 2, r12 is 3. */
    "CASE 1024, 0, mov (%r11), %rax\n"
    "CASE 1024, 0, mov (%r11), %r11\n"
    "CASE 1024, 4, mov %r11, (%r11)\n"
    "CASE 1024, 4, movb $7, (%r11)\n"
    "CASE 256, 4, add %r11, (%rax)\n"
    "CASE 256, 0, add (%rax), %r11\n"
    "CASE 1048, 0, mov 16(%r11,%rcx,4), %r9\n"
    "CASE 1027, 0, movzbl (%r11,%r12), %r11d\n"
    "CASE 64, 0, mov 64+trap_page(%rip), %r11\n"
    "CASE 64, 4, add %r11, 64+trap_page(%rip)\n"
    "CASE 64, 4, addq $100, 64+trap_page(%rip)\n"
    "CASE 64, 4, movq $-5, 64+trap_page(%rip)\n"
    "CASE 64, 4, incl 64+trap_page(%rip)\n"
    "CASE 64, 4, sbb %r11, 64+trap_page(%rip)\n"
    "CASE 64, 12, shlq %cl, 64+trap_page(%rip)\n"
    "CASE 64, 4, xchg %r11, 64+trap_page(%rip)\n"
    "CASE 64, 4, lock xadd %r11, 64+trap_page(%rip)\n"
    "CASE 512, 4, xchg %r11, (%rbx)\n"
    "CASE 512, 4, cmpxchg %r11, (%rbx)\n"
    "CASE 1024, 4, lock cmpxchg %rbx, (%r11)\n"
    "CASE 512, 4, cmpxchg16b (%rbx)\n"
    "CASE 1024, 0, cmp %rbx, (%r11)\n"
    "CASE 1024, 0, test %r11, (%r11)\n"
    "CASE 1024, 0, cmovc (%r11), %r11\n"
    "CASE 1024, 0, cmovnc (%r11), %r11\n"
    "CASE 1024, 4, setc (%r11)\n"
    "CASE 1024, 8, imul (%r11), %r11\n"
    "CASE 1024, 0, movsbq (%r11), %r11\n"
    "CASE 1024, 0, crc32q (%r11), %r11\n"
    "CASE 1024, 8, popcnt (%r11), %r11\n"
    "CASE 1024, 4, movbe %r11, (%r11)\n"
    "CASE 1024, 0, movdqu (%r11), %xmm1\n"
    "CASE 1024, 4, movups %xmm1, (%r11)\n"
    "CASE 1024, 0, movq (%r11), %xmm1\n"
    "CASE 1024, 0, fldl (%r11)\n"
    "CASE 1024, 1, pushq (%r11)\n"
    "CASE 1024, 5, popq (%r11)\n"
    "CASE 64, 1, pushq 64+trap_page(%rip)\n"
    "CASE 64, 5, popq 64+trap_page(%rip)\n"
    "CASE 2040, 4, push %r11\n"
    "CASE 2048, 0, pop %r11\n"
    "CASE 2040, 4, push $-3\n"
    "CASE 2040, 4, pushfq\n"
    "CASE 2048, 0, popfq\n"
    "CASE 1536, 0, leave\n"
    "CASE 2040, 4, enter $64, $0\n"
    "CASE 2040, 4, call 772f\n"
    "CASE 1024, 3, jmp *(%r11)\n"
    "CASE 1024, 3, call *(%r11)\n"
    "CASE 64, 3, jmp *64+trap_page(%rip)\n"
    "CASE 64, 3, call *64+trap_page(%rip)\n"
    "CASE 1048, 3, jmp *16(%r11,%rcx,4)\n"
    "CASE 2048, 2, ret\n"
    "CASE 2048, 2, ret $16\n"
    "CASE 768, 0, lodsq\n"
    "CASE 3072, 4, stosq\n"
    "CASE 768, 4, movsq\n"
    "CASE 768, 16, cmpsb\n"
    "CASE 3072, 0, scasb\n"
    "CASE 631, 0, xlat\n"
    "CASE 1032, 8, bt %rdx, (%r11)\n"
    "CASE 1032, 12, btsq %rdx, (%r11)\n"
    "CASE 3072, 4, maskmovdqu %xmm2, %xmm1\n"
    "CASE 1024, 4, movnti %rbx, (%r11)\n"
    "CASE 1024, 0, ldmxcsr (%r11)\n"
    "CASE 1024, 20, fxsave64 (%r11)\n"
    ".pushsection .data.rel.ro.cases, \"aw\"\n"
    ".globl cases_end\n"
    "cases_end:\n"
    ".popsection\n");

static const struct insn_case *volatile now;
static volatile int arrived, mend_to;
static sigjmp_buf leave;
static volatile bool leaves;

/* The flags before an instruction that overwrites them are nobody's. */
static bool overwrites_flags(const char *text)
{
    static const char *const names[] = {"add",  "adc",  "sub",    "sbb",  "cmp",  "test",
                                        "and",  "or",   "xor",    "inc",  "dec",  "neg",
                                        "xadd", "lock", "popcnt", "popf", "scas", "cmps"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(text, names[i], strlen(names[i])))
            return true;
    return false;
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    arrived++;
    if (sig != SIGSEGV || reg[REG_RIP] != (long)now->at)
        fail("%s: signal %d with the pc %ld off\n", now->text, sig,
             (long)reg[REG_RIP] - (long)now->at);
    /* Where two addresses are wrong, the processor chooses. */
    if ((char *)info->si_addr != trap_page + now->offset && !(now->kind & ADDRESS_UNSURE))
        fail("%s: the address is off by %ld\n", now->text,
             (char *)info->si_addr - trap_page - now->offset);
    CHECK_IS(reg[REG_CR2], (long)info->si_addr);
    CHECK_IS(info->si_code, SEGV_ACCERR);
    CHECK_IS(reg[REG_TRAPNO], 14);
    for (int i = 0; i < REGS; i++) {
        long is = reg[order[i]], wanted = regs_in[i];
        long mask = overwrites_flags(now->text) ? 0 : ARITHMETIC;
        if (i == FLAGS)
            is &= mask, wanted &= mask;
        if (is != wanted)
            fail("%s: %s is 0x%lx, not 0x%lx\n", now->text, reg_name[i], is, wanted);
    }
    if (leaves)
        siglongjmp(leave, 1);
    mprotect(trap_page, PAGE, mend_to);
    if (arrived > 1000000)
        _exit(1);
}

/* Set registers and page as before each run; `turn` makes the values differ. */
static void prepare(int turn)
{
    for (int i = 0; i < REGS; i++)
        regs_in[i] = (long)(0x5a5a5a5a5a5a5a5aul ^
                            (unsigned long)(i + 3) * 0x1234567ul * (unsigned)(turn + 1));
    regs_in[RAX] = (long)trap_page + 256;
    regs_in[RBX] = (long)trap_page + 512;
    regs_in[R11] = (long)trap_page + 1024;
    regs_in[RBP] = (long)trap_page + 1536;
    regs_in[RSI] = (long)trap_page + 768;
    regs_in[RDI] = (long)trap_page + 3072;
    regs_in[RCX] = 2;
    regs_in[R12] = 3;
    regs_in[RDX] = 70; /* bit 70 is in the second word */
    regs_in[RSP] = (long)trap_page + 2048;
    regs_in[FLAGS] = (turn % 2 ? ARITHMETIC : 0) | 0x202;
    if (now->kind & GOOD_RSP)
        regs_in[RSP] = (long)own_stack - 512;
    if (!strncmp(now->text, "xlat", 4))
        regs_in[RAX] = 0x77;
    for (int i = 0; i < PAGE; i++)
        trap_page[i] = (char)(i * 7 + turn);
    memset(trap_page + 1024, 0, 4); /* ldmxcsr reads it: nothing reserved */
    memset(trap_page + 2048, 0, 8); /* popfq reads it */
    if (now->kind & WORD_IS_AFTER)
        memcpy(trap_page + now->offset, &now->after, 8);
}

static void run(int prot)
{
    must(!mprotect(trap_page, PAGE, prot), "protect the page");
    now->run();
    must(!mprotect(trap_page, PAGE, PROT_READ | PROT_WRITE), "open the page");
    asm volatile("fninit\n\tldmxcsr %0" : : "m"((const int){0x1f80}));
}

static void compare(const long *regs, const char *page, const char *how)
{
    long mask = now->kind & FLAGS_UNSURE ? 0 : ARITHMETIC;
    for (int i = 0; i < REGS; i++)
        if (i == FLAGS ? (regs[i] ^ regs_out[i]) & mask : regs[i] != regs_out[i])
            fail("%s, %s: %s becomes 0x%lx, not 0x%lx\n", now->text, how, reg_name[i], regs_out[i],
                 regs[i]);
    if (memcmp(page, trap_page, PAGE))
        fail("%s, %s: memory differs\n", now->text, how);
}

static void one_case(int turn)
{
    static char page[PAGE];
    long regs[REGS];
    own_stack = &regs; /* a guess, for the first time */
    /* Without a fault, to learn what it does. */
    prepare(turn);
    leaves = false;
    run(PROT_READ | PROT_WRITE);
    prepare(turn);
    run(PROT_READ | PROT_WRITE);
    memcpy(regs, regs_out, sizeof regs);
    memcpy(page, trap_page, PAGE);
    /* With one, mended: all of it happens, once. */
    int before = arrived;
    prepare(turn);
    mend_to = PROT_READ | PROT_WRITE;
    run(PROT_NONE);
    CHECK_IS(arrived, before + 1);
    compare(regs, page, "mended");
    /* With the write failing after the read. */
    if (now->kind & STORES && strncmp(now->text, "movsq", 5)) {
        prepare(turn);
        run(PROT_READ);
        CHECK_IS(arrived, before + 2);
        compare(regs, page, "write mended");
    }
    /* With one, left. */
    before = arrived;
    prepare(turn);
    memcpy(page, trap_page, PAGE);
    leaves = true;
    mprotect(trap_page, PAGE, PROT_NONE);
    if (!sigsetjmp(leave, 1))
        now->run();
    mprotect(trap_page, PAGE, PROT_READ | PROT_WRITE);
    CHECK_IS(arrived, before + 1);
    CHECK_IS(memcmp(page, trap_page, PAGE), 0);
}

int main(void)
{
    stack_t alt = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    watchdog(WATCHDOG_SECONDS);
    sigaltstack(&alt, NULL);
    handle(SIGSEGV, on_fault, SA_ONSTACK);
    int count = 0;
    for (int turn = 0; turn < 6; turn++) {
        count = 0;
        for (now = cases; now < cases_end; now++, count++)
            one_case(turn);
    }
    say("%d kinds of instruction\n", count);
    return verdict();
}
