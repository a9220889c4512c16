/* SPDX-License-Identifier: MIT */
/* Signals that hit indirect jumps, calls and returns find the pc at the beginning of an instruction of the program, the
 * stack as deep as it is there, and in every register the value the program put there. */
#include "check.h"

enum { SIGNALS = 1500 };

/* Each instruction of the loop is noted: where it is and how many words the stack holds before it runs, least and most. */
struct place {
    int32_t offset, least, most;
};
extern const char loop_begin[], loop_end[];
extern const struct place places[], places_end[];
long branchy_loop(volatile long *arrived, long until);
void *loop_stack;

asm(".macro J least:req, most:req, insn:vararg\n"
    "771: \\insn\n"
    ".pushsection .rodata.places, \"a\"\n"
    "    .long 771b - loop_begin, \\least, \\most\n"
    ".popsection\n"
    ".endm\n"
    ".macro I depth:req, insn:vararg\n"
    "    J \\depth, \\depth, \\insn\n"
    ".endm\n"
    ".pushsection .rodata.places, \"a\"\n"
    ".globl places\n"
    "places:\n"
    ".popsection\n"
    ".globl branchy_loop, loop_begin, loop_end\n"
    "branchy_loop:\n"
    "    push %rbx\n"
    "    push %rbp\n"
    "    push %r12\n"
    "    push %r13\n"
    "    push %r14\n"
    "    push %r15\n"
    "    mov %rsp, loop_stack(%rip)\n"
    "    lea 10f(%rip), %rbx\n" /* where the jump goes */
    "    lea 20f(%rip), %rbp\n" /* what is called */
    "    lea 30f(%rip), %r12\n" /* where the odd return goes */
    "    mov $0x1010101010101010, %r10\n"
    "    mov $0x1111111111111111, %r11\n"
    "    mov $0x0909090909090909, %r9\n"
    "    mov $0x0808080808080808, %r8\n"
    "    movq %r11, %xmm7\n"
    "    xor %r14d, %r14d\n"
    "    xor %r15d, %r15d\n"
    "loop_begin:\n"
    "1:\n"
    "    I 0, inc %r14\n"
    "    I 0, jmp *%rbx\n"
    "    I 0, ud2\n"
    "10:\n"
    "    I 0, call *%rbp\n"
    "    I 0, push %rbp\n"
    "    I 1, call *(%rsp)\n"
    "    I 1, pop %rbp\n"
    "    I 0, push %r12\n"
    "    I 1, ret\n"
    "    I 0, ud2\n"
    "30:\n"
    "    I 0, call 21f\n"
    "    I 0, lea 40f(%rip), %r13\n"
    "    I 0, push %r13\n"
    "    I 1, jmp *(%rsp)\n"
    "    I 1, ud2\n"
    "40:\n"
    "    I 1, pop %r13\n"
    "    I 0, cmp %rsi, (%rdi)\n"
    "    I 0, jl 1b\n"
    "    I 0, jmp 50f\n"
    "20:\n"
    "    J 1, 2, inc %r15\n"
    "    J 1, 2, ret\n"
    "21:\n"
    "    I 1, call 22f\n"
    "    I 1, ret $0\n"
    "22:\n"
    "    I 2, lea 8(%rsp), %rsp\n"
    "    I 1, inc %r15\n"
    "    I 1, jmp *-8(%rsp)\n" /* back through the slot just dropped: the red zone is the program's */
    "50:\n"
    "    I 0, nop\n"
    "loop_end:\n"
    "    lea (%r14,%r14,2), %rax\n"
    "    sub %r15, %rax\n"
    "    pop %r15\n"
    "    pop %r14\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbp\n"
    "    pop %rbx\n"
    "    ret\n"
    ".pushsection .rodata.places, \"a\"\n"
    ".globl places_end\n"
    "places_end:\n"
    ".popsection\n");

static volatile long arrived;

static void look(const ucontext_t *uc)
{
    const greg_t *reg = uc->uc_mcontext.gregs;
    const char *pc = (const char *)reg[REG_RIP];
    CHECK(is_own_text((uintptr_t)pc));
    if (pc < loop_begin || pc >= loop_end)
        return;
    const struct place *p = places;
    while (p < places_end && p->offset != pc - loop_begin)
        p++;
    if (p == places_end) {
        fail("no instruction begins at +0x%lx\n", (long)(pc - loop_begin));
        return;
    }
    long depth = ((long)loop_stack - reg[REG_RSP]) / 8;
    if (depth < p->least || depth > p->most)
        fail("at +0x%lx the stack holds %ld words, not %d\n", (long)p->offset, depth, p->least);
    CHECK_IS(reg[REG_R10], 0x1010101010101010);
    CHECK_IS(reg[REG_R11], 0x1111111111111111);
    CHECK_IS(reg[REG_R9], 0x0909090909090909);
    CHECK_IS(reg[REG_R8], 0x0808080808080808);
    CHECK_IS(reg[REG_RDI], (long)&arrived);
    CHECK_IS(reg[REG_RSI], SIGNALS);
    CHECK_IS(uc->uc_mcontext.fpregs->_xmm[7].element[0], 0x11111111);
    CHECK_IS(uc->uc_mcontext.fpregs->_xmm[7].element[1], 0x11111111);
    /* Three calls a turn have counted, those of this turn perhaps not yet. */
    long behind = 3 * reg[REG_R14] - reg[REG_R15];
    CHECK(behind >= 0 && behind <= 3);
}

static void on_timer(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info;
    look(context);
    if (++arrived < SIGNALS)
        pulse_in(30000 + arrived * 37 % 10000);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    handle(SIGUSR1, on_timer, 0);
    pulse_start(SIGUSR1);
    pulse_in(30000);
    CHECK_IS(branchy_loop(&arrived, SIGNALS), 0);
    return verdict();
}
