/* SPDX-License-Identifier: MIT */
/* rt_sigreturn takes any frame the program shows it: a copy elsewhere, one made from nothing, one kept from long ago;
 * and kills a program that shows it nonsense. */
#include "check.h"

/* A frame as the kernel reads it: at rsp when rt_sigreturn is called. */
struct frame {
    unsigned long flags;
    void *link;
    stack_t stack;
    greg_t reg[NGREG];
    void *fpstate;
    uint64_t reserved[8];
    uint64_t mask;
} __attribute__((aligned(16)));

/* Call rt_sigreturn with rsp at the frame. */
__attribute__((noreturn)) static void return_through(const void *frame)
{
    asm volatile("mov %0, %%rsp\n\tmov $15, %%eax\n\tsyscall\n\tud2" : : "r"(frame) : "memory");
    __builtin_unreachable();
}

static volatile int arrived, reached;
static char *copy;

/* The frame and the xsave area behind it move elsewhere, pointer and all; the stack here is wiped. */
static void on_moved(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)sig, (void)info;
    arrived++;
    char *fp = (char *)uc->uc_mcontext.fpregs;
    uint32_t size;
    memcpy(&size, fp + 464 + 4, 4);
    memset(copy, 0, 16384);
    memcpy(copy + 4096, uc, sizeof(struct frame));
    memcpy(copy + 8192, fp, size);
    *(void **)(copy + 4096 + offsetof(struct frame, fpstate)) = copy + 8192;
    memset(uc, 0, sizeof(struct frame));
    return_through(copy + 4096);
}

static char other_stack[65536] __attribute__((aligned(64)));

/* Arrived by a forged frame, with every register as it says. */
static void arrive(long rdi, long rsi, long rdx, long rcx, long r8, long r9)
{
    CHECK(rdi == 1 && rsi == 2 && rdx == 3 && rcx == 4 && r8 == 5 && r9 == 6);
    CHECK((char *)&rdi > other_stack && (char *)&rdi < other_stack + sizeof other_stack);
    CHECK(is_blocked(SIGUSR2) && !is_blocked(SIGUSR1));
    reached++;
    siglongjmp(fault_out, 1);
}

static void fill(struct frame *frame, void (*to)(void), uint64_t mask)
{
    memset(frame, 0, sizeof *frame);
    frame->flags = 6; /* no xsave state, strict ss */
    frame->stack.ss_flags = SS_DISABLE;
    frame->reg[REG_RDI] = 1;
    frame->reg[REG_RSI] = 2;
    frame->reg[REG_RDX] = 3;
    frame->reg[REG_RCX] = 4;
    frame->reg[REG_R8] = 5;
    frame->reg[REG_R9] = 6;
    frame->reg[REG_RSP] = (long)other_stack + 32768 - 8;
    frame->reg[REG_RIP] = (long)to;
    frame->reg[REG_EFL] = 0x202;
    frame->reg[REG_CSGSFS] = 0x002b000000000033;
    frame->mask = mask;
}

static void made_from_nothing(void)
{
    struct frame frame;
    fill(&frame, (void (*)(void))arrive, 1ul << (SIGUSR2 - 1));
    for (volatile int i = 0; i < 100; i++) {
        if (!sigsetjmp(fault_out, 1))
            return_through(&frame);
        CHECK(!is_blocked(SIGUSR2));
    }
    CHECK_IS(reached, 100);
}

/* A coroutine switched by signal frames: the kept frame of one side resumes it. */
static struct frame kept;
static volatile int hops;

static void on_hop(int sig, siginfo_t *info, void *context)
{
    struct frame now;
    (void)sig, (void)info;
    memcpy(&now, context, sizeof now);
    now.fpstate = NULL;
    struct frame next = kept;
    kept = now;
    return_through(&next);
}

static void other_side(void)
{
    for (;;) {
        hops++;
        raise(SIGHUP);
    }
}

static void hop(void)
{
    fill(&kept, other_side, 0);
    handle(SIGHUP, on_hop, 0);
    for (int i = 0; i < 100; i++) {
        raise(SIGHUP);
        CHECK_IS(hops, i + 1);
        CHECK(!is_blocked(SIGHUP));
    }
}

static int frame_is_nowhere(void)
{
    return_through((void *)4096);
}

static int pc_is_nonsense(void)
{
    struct frame frame;
    fill(&frame, (void (*)(void))0x8000000000000000, 0);
    return_through(&frame);
}

static int selector_is_nonsense(void)
{
    struct frame frame;
    fill(&frame, other_side, 0);
    frame.reg[REG_CSGSFS] = 0x002b00000000000b;
    return_through(&frame);
}

static int xsave_is_nowhere(void)
{
    struct frame frame;
    fill(&frame, other_side, 0);
    frame.fpstate = (void *)8192;
    return_through(&frame);
}

static int frame_is_nowhere_and_segv_caught(void)
{
    catch_faults(0);
    stack_t alt = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    sigaltstack(&alt, NULL);
    catch_faults(SA_ONSTACK);
    CATCH(return_through((void *)4096));
    return fault.sig == SIGSEGV && fault.code == SI_KERNEL && fault.reg[REG_RSP] == 4096 ? 60 : 1;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    copy = map(16384, PROT_READ | PROT_WRITE);
    handle(SIGUSR1, on_moved, 0);
    for (int i = 0; i < 100; i++) {
        double kept_in_vector = i / 8.0;
        asm volatile("" : "+x"(kept_in_vector));
        raise(SIGUSR1);
        CHECK(kept_in_vector == i / 8.0);
        CHECK(!is_blocked(SIGUSR1));
    }
    CHECK_IS(arrived, 100);
    made_from_nothing();
    hop();
    CHECK_IS(status_in_child(frame_is_nowhere), SIGSEGV);
    CHECK_IS(status_in_child(pc_is_nonsense), SIGSEGV);
    CHECK_IS(status_in_child(selector_is_nonsense), SIGSEGV);
    CHECK_IS(status_in_child(xsave_is_nowhere), SIGSEGV);
    CHECK_IS(status_in_child(frame_is_nowhere_and_segv_caught), 60 << 8);
    return verdict();
}
