/* SPDX-License-Identifier: MIT */
/* A profiler's signals over a loop that keeps a value of its own in every register: the handler finds each in the frame,
 * in every kind of instruction, and the loop never finds one changed. */
#include "check.h"
#include "xstate.h"

enum { SIGNALS = 500 };

/* Constants for the registers, rax to r15 without rsp; the first two differ from turn to turn. */
long constant[15];
volatile long arrived, turns;
long wrong;
extern const char canary_begin[], canary_end[];
void canary_loop(void);

asm(".macro EACH what\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15\n"
    ".ifc \\what,load\n"
    "    mov at+constant(%rip), %\\r\n"
    ".else\n"
    "    cmp at+constant(%rip), %\\r\n"
    "    jne 9f\n"
    ".endif\n"
    "at = at + 8\n"
    ".endr\n"
    ".endm\n"
    ".globl canary_loop, canary_begin, canary_end\n"
    "canary_loop:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    call load_vectors\n"
    "    EACH load\n"
    "canary_begin:\n"
    "1:  incq turns(%rip)\n"
    "    push %r11\n"
    "    call 20f\n"
    "    pop %r11\n"
    "    call *21f(%rip)\n"
    "    pushq turns(%rip)\n"
    "    lea 8(%rsp), %rsp\n"
    "    xchg %rbx, -16(%rsp)\n"
    "    xchg %rbx, -16(%rsp)\n"
    "    not %r10\n"
    "    not %r10\n"
    "    lock addq $0, turns(%rip)\n"
    "    xor %r13, %r14\n"
    "    xor %r13, %r14\n"
    "    EACH compare\n"
    "    cmpq $500, arrived(%rip)\n"
    "    jl 1b\n"
    "    jmp 10f\n"
    "9:  incq wrong(%rip)\n"
    "10:\n"
    "canary_end:\n"
    "    call store_vectors\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n"
    "20: ret\n"
    "22: jmp 20b\n"
    ".section .data.rel.ro, \"aw\"\n"
    "21: .quad 22b\n"
    ".text\n");

static struct vectors in_frame;
static volatile long inside;

static void on_profile(int sig, siginfo_t *info, void *context)
{
    static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI,
                                REG_RDI, REG_RBP, REG_R8,  REG_R9,  REG_R10,
                                REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const ucontext_t *uc = context;
    const greg_t *reg = uc->uc_mcontext.gregs;
    (void)sig, (void)info;
    if (reg[REG_RIP] >= (long)canary_begin && reg[REG_RIP] < (long)canary_end) {
        int odd = 0;
        inside++;
        /* One register may be in the middle of being changed and changed back. */
        for (int i = 0; i < 15; i++)
            odd += reg[order[i]] != constant[i];
        CHECK(odd <= 1);
        CHECK_IS(reg[REG_R8], constant[7]);
        CHECK_IS(reg[REG_R11], constant[10]);
        CHECK_IS(reg[REG_RAX], constant[0]);
        frame_to_vectors(uc->uc_mcontext.fpregs, &in_frame);
        compare_vectors(&in_frame, &vectors_in, "frame");
    } else {
        CHECK(is_own_text(reg[REG_RIP]));
    }
    if (++arrived < SIGNALS)
        pulse_in(20000 + arrived * 101 % 30000);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    learn_xstate();
    note_text();
    for (int i = 0; i < 15; i++)
        constant[i] = (long)(0x1234567890abcdeful * (unsigned)(i + 1));
    fill_vectors(&vectors_in, 9);
    handle(SIGPROF, on_profile, SA_RESTART);
    pulse_start(SIGPROF);
    pulse_in(50000);
    canary_loop();
    CHECK_IS(wrong, 0);
    CHECK_IS(arrived, SIGNALS);
    CHECK(inside > 0);
    compare_vectors(&vectors_out, &vectors_in, "afterwards");
    return verdict();
}
