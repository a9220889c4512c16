/* SPDX-License-Identifier: MIT */
/* A handler sees the value of every general, vector and mask register and of the flags at the instruction that raised the
 * signal, and every value it writes into the frame is the register's value afterwards; for faults of several kinds and a
 * signal sent by a system call. */
#include "check.h"
#include "xstate.h"

/* In the order of the frame's general registers, so that one index serves both; then the flags. */
static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
                            REG_RBP, REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12,
                            REG_R13, REG_R14, REG_R15, REG_RSP, REG_EFL};
static const char *const names[] = {"rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8",   "r9",
                                    "r10", "r11", "r12", "r13", "r14", "r15", "rsp", "flags"};
enum { RAX, RBX, RCX, RDX, RSI, RDI, RBP, R8, R9, R10, R11, R12, R13, R14, R15, RSP, FLAGS, REGS };
enum { ARITHMETIC = 0xcd5, FIXED_FLAGS = 0x202 }; /* CF PF AF ZF SF DF OF */

long regs_in[REGS], regs_out[REGS];
void *own_stack;

/* exchange_NAME: load everything, run one instruction, store everything. */
asm(".macro EXCHANGE name, insn:vararg\n"
    ".globl exchange_\\name, \\name\\()_at, \\name\\()_next\n"
    "exchange_\\name:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    call load_vectors\n"
    "    mov %rsp, own_stack(%rip)\n"
    "    mov %rsp, 15*8+regs_in(%rip)\n"
    "    pushq 16*8+regs_in(%rip)\n"
    "    popfq\n"
    "    REGISTERS load\n"
    "\\name\\()_at:\n"
    "    \\insn\n"
    "\\name\\()_next:\n"
    "    REGISTERS store\n"
    "    mov %rsp, 15*8+regs_out(%rip)\n"
    "    mov own_stack(%rip), %rsp\n"
    "    pushfq\n"
    "    popq 16*8+regs_out(%rip)\n"
    "    cld\n"
    "    call store_vectors\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n"
    ".endm\n"
    ".macro REGISTERS what\n"
    "at = 0\n"
    ".irp r, rax,rbx,rcx,rdx,rsi,rdi,rbp,r8,r9,r10,r11,r12,r13,r14,r15\n"
    ".ifc \\what,load\n"
    "    mov at+regs_in(%rip), %\\r\n"
    ".else\n"
    "    mov %\\r, at+regs_out(%rip)\n"
    ".endif\n"
    "at = at + 8\n"
    ".endr\n"
    ".endm\n"
    "EXCHANGE ud2, ud2\n"
    "EXCHANGE int3, int3\n"
    "EXCHANGE load, mov (%r11), %r11\n"
    "EXCHANGE store, add %r11, 8(%rax,%r12,4)\n"
    "EXCHANGE divide, div %r11\n"
    "EXCHANGE send, syscall\n");

#define WAY(name)               \
    void exchange_##name(void); \
    extern const char name##_at[], name##_next[];
WAY(ud2)
WAY(int3)
WAY(load)
WAY(store)
WAY(divide)
WAY(send)

static struct way {
    const char *name;
    void (*run)(void);
    const char *pc, *next;
    int sig, code, trap;
} ways[] = {
    {"ud2", exchange_ud2, ud2_at, ud2_next, SIGILL, ILL_ILLOPN, 6},
    {"int3", exchange_int3, int3_next, int3_next, SIGTRAP, SI_KERNEL, 3},
    {"load", exchange_load, load_at, load_next, SIGSEGV, SI_KERNEL, 13},
    {"store", exchange_store, store_at, store_next, SIGSEGV, SEGV_MAPERR, 14},
    {"divide", exchange_divide, divide_at, divide_next, SIGFPE, FPE_INTDIV, 0},
    {"send", exchange_send, send_next, send_next, SIGUSR1, SI_TKILL, -1},
};

static struct way *volatile now;
static volatile int arrived;
static long regs_new[REGS];
static struct vectors frame_vectors, vectors_new;
static char other_stack[4096];

static void on_signal(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    greg_t *reg = uc->uc_mcontext.gregs;
    void *fpstate = uc->uc_mcontext.fpregs;
    arrived++;
    CHECK_IS(sig, now->sig);
    CHECK_IS(info->si_signo, now->sig);
    CHECK_IS(info->si_code, now->code);
    CHECK_IS(reg[REG_RIP], (long)now->pc);
    CHECK(now->trap < 0 || reg[REG_TRAPNO] == now->trap);
    if (sig == SIGILL || sig == SIGFPE)
        CHECK_IS((long)info->si_addr, (long)now->pc);
    if (now->run == exchange_store) {
        CHECK_IS((long)info->si_addr, 8 + regs_in[RAX] + 4 * regs_in[R12]);
        CHECK_IS(reg[REG_CR2], (long)info->si_addr);
        CHECK(reg[REG_ERR] == 6 || reg[REG_ERR] == 4); /* the read comes first */
    }
    for (int i = 0; i < REGS; i++) {
        long wanted = i == FLAGS ? regs_in[i] & ARITHMETIC : regs_in[i];
        long is = i == FLAGS ? reg[order[i]] & ARITHMETIC : reg[order[i]];
        if (now->code == SI_TKILL && i == RAX)
            wanted = 0;
        if (now->code == SI_TKILL && i == RCX)
            wanted = (long)send_next;
        if (now->code == SI_TKILL && i == R11)
            wanted = is & ~(ARITHMETIC | 0x202l) ? -1 : (regs_in[FLAGS] & ARITHMETIC) | 0x202;
        /* div and add overwrite the flags: what was there before, nobody will read. */
        bool overwritten = i == FLAGS && (sig == SIGFPE || now->run == exchange_store);
        if (is != wanted && !overwritten)
            fail("%s: the frame's %s is 0x%lx, not 0x%lx\n", now->name, names[i], is, wanted);
        reg[order[i]] = regs_new[i];
    }
    frame_to_vectors(fpstate, &frame_vectors);
    compare_vectors(&frame_vectors, &vectors_in, "frame");
    vectors_to_frame(fpstate, &vectors_new);
    reg[REG_RIP] = (long)now->next;
}

static void exchange(struct way *way, int round)
{
    now = way;
    for (int i = 0; i < REGS; i++) {
        regs_in[i] =
            (long)(0x8181818181818181 ^ (uint64_t)(i + 1) * 0x1234567 * (unsigned)(round + 1));
        regs_new[i] =
            (long)(0x4242424242424242 ^ (uint64_t)(i + 1) * 0x7654321 * (unsigned)(round + 1));
    }
    regs_in[FLAGS] = (regs_in[FLAGS] & ARITHMETIC) | FIXED_FLAGS;
    regs_new[FLAGS] = (regs_new[FLAGS] & ARITHMETIC) | FIXED_FLAGS;
    regs_new[RSP] = (long)other_stack + 2000 + round; /* any value will do, aligned or not */
    if (way->code == SI_TKILL) {
        regs_in[RAX] = SYS_tgkill;
        regs_in[RDI] = getpid();
        regs_in[RSI] = gettid();
        regs_in[RDX] = SIGUSR1;
    } else if (way->run == exchange_store) {
        regs_in[RAX] = 0x1000; /* below what may be mapped */
        regs_in[R12] = round;
    } else if (way->run == exchange_divide) {
        regs_in[R11] = 0;
    }
    fill_vectors(&vectors_in, round);
    fill_vectors(&vectors_new, round + 100);
    int before = arrived;
    way->run();
    CHECK_IS(arrived, before + 1);
    for (int i = 0; i < REGS; i++) {
        long is = i == FLAGS ? regs_out[i] & ARITHMETIC : regs_out[i];
        long wanted = i == FLAGS ? regs_new[i] & ARITHMETIC : regs_new[i];
        if (is != wanted)
            fail("%s: %s is 0x%lx afterwards, not 0x%lx\n", way->name, names[i], is, wanted);
    }
    compare_vectors(&vectors_out, &vectors_new, "afterwards");
}

int main(void)
{
    enum { WAYS = sizeof ways / sizeof *ways };
    stack_t stack = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    watchdog(WATCHDOG_SECONDS);
    learn_xstate();
    sigaltstack(&stack, NULL);
    for (int round = 0; round < 60; round++) {
        for (int i = 0; i < WAYS; i++)
            handle(ways[i].sig, on_signal, round % 2 ? SA_ONSTACK : 0);
        for (int i = 0; i < WAYS; i++)
            exchange(&ways[i], round);
    }
    say("%d signals\n", arrived);
    return verdict();
}
