/* SPDX-License-Identifier: MIT */
/* What a handler finds when it starts: its arguments, the frame's place and layout, the other registers as they were, DF
 * clear, the x87 and vector state at rest, uc_stack and uc_sigmask of the program; and what the program finds when it goes
 * on: all as it was, down to the red zone. */
#include "check.h"
#include "xstate.h"
#include <sys/auxv.h>

enum { KERNEL_CONTEXT = 304, RED_ZONE = 16 };
enum { DF = 0x400, TF = 0x100 };
enum {
    CONTROL = 0x0f7f,
    MXCSR = 0xffc0
}; /* odd rounding, flush to zero: allowed, and no defaults */

/* What the first instructions of the handler saw. */
struct entry {
    long rsp, rax, rdi, rsi, rdx, rbx, rcx, rbp, r8, r9, r10, r11, r12, r13, r14, r15, flags;
    uint32_t mxcsr, pad, env[8];
} entry;
/* What the program saw afterwards. */
struct after {
    long red_zone_faults, flags, rsp_moved;
    uint32_t mxcsr, pad, env[8];
    int numbers[3];
} after;
const uint32_t odd_mxcsr = MXCSR, usual_mxcsr = 0x1f80;
const uint16_t odd_control = CONTROL;
long stack_in_body;

void raw_handler(int sig, siginfo_t *info, void *context);
long body(long kind, long pid, long tid, long sig);
extern const char body_send[], body_sent[], body_fault[];
asm(".globl raw_handler, body, body_send, body_sent, body_fault\n"
    "raw_handler:\n"
    "    mov %rsp, entry(%rip)\n"
    "at = 8\n"
    ".irp r, rax,rdi,rsi,rdx,rbx,rcx,rbp,r8,r9,r10,r11,r12,r13,r14,r15\n"
    "    mov %\\r, at+entry(%rip)\n"
    "at = at + 8\n"
    ".endr\n"
    "    pushfq\n"
    "    popq at+entry(%rip)\n"
    "    stmxcsr at+8+entry(%rip)\n"
    "    fnstenv at+16+entry(%rip)\n"
    "    fldenv at+16+entry(%rip)\n"
    "    call store_vectors\n"
    "    jmp look\n"
    /* A loop's worth of odd state, one signal in the middle of it, and all of it again. */
    "body:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rsp, stack_in_body(%rip)\n"
    "    mov %rdi, %rax\n"
    "    mov %rsi, %rdi\n"
    "    mov %rdx, %rsi\n"
    "    mov %rcx, %rdx\n"
    "    mov $16, %ecx\n"
    "1:  lea 0x5150(%rcx), %rbx\n"
    "    neg %rcx\n"
    "    mov %rbx, (%rsp,%rcx,8)\n"
    "    neg %rcx\n"
    "    dec %rcx\n"
    "    jnz 1b\n"
    "    ldmxcsr odd_mxcsr(%rip)\n"
    "    fninit\n"
    "    fldcw odd_control(%rip)\n"
    "    fld1\n"
    "    fldpi\n"
    "    fldz\n"
    ".irp r, rbx,rbp,r8,r9,r10,r12,r13,r14,r15\n"
    "    mov $0xabcdef, %\\r\n"
    ".endr\n"
    "    mov $7, %r11d\n"
    "    movq %r10, %xmm3\n"
    "    std\n"
    "    test %rax, %rax\n"
    "    jnz 2f\n"
    "    mov $234, %eax\n" /* tgkill */
    "    std\n"
    "body_send:\n"
    "    syscall\n"
    "body_sent:\n"
    "    jmp 3f\n"
    "2:\n"
    "body_fault:\n"
    "    ud2\n"
    "3:  pushfq\n" /* the top word of the red zone is used up here */
    "    popq 8+after(%rip)\n"
    "    cld\n"
    "    stmxcsr 24+after(%rip)\n"
    "    fnstenv 32+after(%rip)\n"
    "    fistpl 64+after(%rip)\n"
    "    fistpl 68+after(%rip)\n"
    "    fistpl 72+after(%rip)\n"
    "    fninit\n"
    "    ldmxcsr usual_mxcsr(%rip)\n"
    "    mov stack_in_body(%rip), %rax\n"
    "    sub %rsp, %rax\n"
    "    mov %rax, 16+after(%rip)\n"
    "    mov $16, %ecx\n"
    "    xor %eax, %eax\n"
    "1:  lea 0x5150(%rcx), %rbx\n"
    "    neg %rcx\n"
    "    cmp %rbx, (%rsp,%rcx,8)\n"
    "    je 2f\n"
    "    inc %rax\n"
    "2:  neg %rcx\n"
    "    dec %rcx\n"
    "    jnz 1b\n"
    "    mov %rax, after(%rip)\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");

static stack_t alt;
static void *restorer;
static volatile int arrived;
static volatile bool on_alt, alt_given, faults;

static void check_place(const ucontext_t *uc)
{
    uintptr_t from = entry.rsp, fp = (uintptr_t)uc->uc_mcontext.fpregs;
    uintptr_t end = fp + frame_words(uc->uc_mcontext.fpregs)->extended_size;
    CHECK_IS(entry.rsp % 16, 8);
    CHECK_IS(*(long *)entry.rsp, (long)restorer);
    CHECK_IS(entry.rdx, entry.rsp + 8);
    CHECK_IS(entry.rsi, entry.rdx + KERNEL_CONTEXT);
    CHECK_IS(fp % 64, 0);
    CHECK(fp >= (uintptr_t)entry.rsi + sizeof(siginfo_t));
    if (on_alt) {
        uintptr_t top = (uintptr_t)alt.ss_sp + alt.ss_size;
        CHECK(from >= (uintptr_t)alt.ss_sp && end <= top);
        CHECK(top - from <= getauxval(AT_MINSIGSTKSZ));
    } else {
        uintptr_t top = stack_in_body - 128;
        CHECK(end <= top);
        CHECK(top - from <= getauxval(AT_MINSIGSTKSZ));
    }
}

static void check_state(void)
{
    static const struct vectors none;
    CHECK_IS(entry.rax, 0);
    CHECK_IS(entry.rbx, 0xabcdef);
    CHECK_IS(entry.rbp, 0xabcdef);
    CHECK_IS(entry.r8, 0xabcdef);
    CHECK_IS(entry.r9, 0xabcdef);
    CHECK_IS(entry.r10, 0xabcdef);
    CHECK_IS(entry.r12, 0xabcdef);
    CHECK_IS(entry.r13, 0xabcdef);
    CHECK_IS(entry.r14, 0xabcdef);
    CHECK_IS(entry.r15, 0xabcdef);
    CHECK_IS(entry.flags & (DF | TF), 0);
    CHECK_IS(entry.mxcsr, 0x1f80);
    CHECK_IS(entry.env[0] & 0xffff, 0x37f);
    CHECK_IS(entry.env[1] & 0xffff, 0);
    CHECK_IS(entry.env[2] & 0xffff, 0xffff);
    compare_vectors(&vectors_out, &none, "at the handler's start");
}

__attribute__((used)) void look(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    const greg_t *reg = uc->uc_mcontext.gregs;
    sigset_t now, wanted;
    arrived++;
    CHECK_IS(entry.rdi, sig);
    CHECK_IS(info->si_signo, sig);
    CHECK_IS(info->si_errno, 0);
    check_place(uc);
    check_state();
    if (faults) {
        CHECK_IS(info->si_code, ILL_ILLOPN);
        CHECK_IS(info->si_addr, body_fault);
        CHECK_IS(reg[REG_RIP], (long)body_fault);
        CHECK_IS(reg[REG_RAX], 1);
        CHECK_IS(reg[REG_R11], 7);
        CHECK_IS(entry.r11, 7);
        CHECK_IS(reg[REG_TRAPNO], 6);
        CHECK_IS(reg[REG_ERR], 0);
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
    } else {
        CHECK_IS(info->si_code, SI_TKILL);
        CHECK_IS(info->si_pid, getpid());
        CHECK_IS(info->si_uid, getuid());
        CHECK_IS(reg[REG_RIP], (long)body_sent);
        CHECK_IS(reg[REG_RAX], 0);
        CHECK_IS(reg[REG_RCX], (long)body_sent);
        CHECK_IS(entry.rcx, (long)body_sent);
    }
    CHECK_IS(reg[REG_RSP], stack_in_body);
    CHECK(reg[REG_EFL] & DF);
    CHECK_IS(reg[REG_CSGSFS], 0x002b000000000033);
    CHECK_IS(uc->uc_flags, 7);
    CHECK_IS((long)uc->uc_link, 0);
    /* The mask in the frame is that of the program, the mask now is more. */
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGUSR2);
    sigaddset(&wanted, SIGRTMAX);
    CHECK_IS(memcmp(&uc->uc_sigmask, &wanted, 8), 0);
    CHECK_IS(reg[REG_OLDMASK], *(long *)&wanted);
    sigaddset(&wanted, SIGHUP);
    sigaddset(&wanted, sig);
    sigprocmask(SIG_BLOCK, NULL, &now);
    CHECK_IS(memcmp(&now, &wanted, 8), 0);
    /* The alternate stack in the frame is the program's own, whether used or not. */
    if (alt_given) {
        CHECK_IS(uc->uc_stack.ss_sp, alt.ss_sp);
        CHECK_IS(uc->uc_stack.ss_size, alt.ss_size);
    } else {
        CHECK_IS(uc->uc_stack.ss_sp, 0);
        CHECK_IS(uc->uc_stack.ss_size, 0);
    }
    stack_t told;
    sigaltstack(NULL, &told);
    if (arrived <= 6)
        say("signal %d, flags of the stack %d in the frame, %d told\n", sig, uc->uc_stack.ss_flags,
            told.ss_flags);
    /* The program must not notice what a handler does to its own state. */
    fill_vectors(&vectors_in, 3);
    load_vectors();
    asm volatile("fninit\n\tfld1\n\tstc" : : : "cc");
}

static void run_once(void)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } told;
    struct sigaction act = {.sa_sigaction = raw_handler,
                            .sa_flags = SA_SIGINFO | (on_alt ? SA_ONSTACK : 0)};
    sigaddset(&act.sa_mask, SIGHUP);
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGILL, &act, NULL);
    CHECK_IS(syscall(SYS_rt_sigaction, SIGUSR1, NULL, &told, 8), 0);
    restorer = told.restorer;
    memset(&after, 0xee, sizeof after);
    body(faults, getpid(), gettid(), SIGUSR1);
    CHECK_IS(after.flags & DF, DF);
    CHECK_IS(after.rsp_moved, 0);
    CHECK_IS(after.mxcsr, MXCSR);
    CHECK_IS(after.env[0] & 0xffff, CONTROL);
    CHECK_IS(after.env[2] & 0xffff, 0x7ff);
    CHECK_IS(after.numbers[0], 0);
    CHECK_IS(after.numbers[1], 3);
    CHECK_IS(after.numbers[2], 1);
    /* One word is the flags pushed after the signal; the other fifteen are untouched. */
    CHECK(after.red_zone_faults <= 1);
}

int main(void)
{
    sigset_t mask;
    watchdog(WATCHDOG_SECONDS);
    learn_xstate();
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR2);
    sigaddset(&mask, SIGRTMAX);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    for (int round = 0; round < 20; round++)
        for (int way = 0; way < 6; way++) {
            faults = way % 2;
            on_alt = way / 2 == 2;
            alt_given = way / 2 >= 1;
            alt = (stack_t){.ss_flags = SS_DISABLE};
            if (alt_given)
                alt = (stack_t){.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
            must(!sigaltstack(&alt, NULL), "set the signal stack");
            run_once();
            if (alt_given)
                munmap(alt.ss_sp, alt.ss_size);
        }
    CHECK_IS(arrived, 120);
    return verdict();
}
