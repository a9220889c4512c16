/* SPDX-License-Identifier: MIT */
/* Faults and signals in code that has changed itself: the pc and the registers are those of the code that ran, also when
 * the bytes at the faulting place have been changed meanwhile, by the code itself or by the handler. */
#include "check.h"

static unsigned char *page;
static volatile int arrived;

/* Writes its own next instructions, then faults with everything in registers. */
extern const char faulty_begin[], faulty_end[], faulty_store[], faulty_at[], faulty_next[];
asm(".pushsection .rodata\n"
    ".globl faulty_begin, faulty_end, faulty_store, faulty_at, faulty_next\n"
    "faulty_begin:\n"
    "    push %rbx\n"
    "    mov $0x0b, %ebx\n"
    "    mov $0x0a, %r10d\n"
    "    mov $0x0f, %r11d\n"
    "    mov %rdi, %rcx\n"
    "    stc\n"
    "faulty_store:\n"
    "    movl %esi, 2+1f(%rip)\n"        /* lea and mov keep the flags */
    "1:  .byte 0x41, 0xb8, 0, 0, 0, 0\n" /* mov $0, %r8d */
    "    lea 3(%r8), %r9\n"
    "    mov %r9, %rdx\n"
    "faulty_at:\n"
    "    mov %r11, (%rcx)\n"
    "faulty_next:\n"
    "    lea (%r8,%r9), %rax\n"
    "    adc $0, %rax\n" /* the carry is still there */
    "    pop %rbx\n"
    "    ret\n"
    "faulty_end:\n"
    ".popsection\n");

enum { LEAVE, STEP_OVER, CHANGE_AND_RETRY };
static volatile int way;
static volatile long immediate;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    const unsigned char *at = page + (faulty_at - faulty_begin);
    (void)sig;
    arrived++;
    CHECK_IS(reg[REG_RIP], (long)at);
    CHECK_IS(info->si_addr, 0x40);
    CHECK_IS(reg[REG_RBX], 0x0b);
    CHECK_IS(reg[REG_R10], 0x0a);
    CHECK_IS(reg[REG_R11], 0x0f);
    CHECK_IS(reg[REG_RCX], 0x40);
    CHECK_IS(reg[REG_R8], immediate);
    CHECK_IS(reg[REG_R9], immediate + 3);
    CHECK_IS(reg[REG_RDX], immediate + 3);
    CHECK_IS(reg[REG_EFL] & 1, 1);
    if (way == LEAVE)
        siglongjmp(fault_out, 1);
    if (way == STEP_OVER)
        reg[REG_RIP] += faulty_next - faulty_at;
    if (way ==
        CHANGE_AND_RETRY) /* another instruction of the same length: lea 1(%r8), %r8 is longer; use xor of r11 */
        memcpy((void *)at, "\x4d\x31\xdb", 3);
}

static long run(void)
{
    memcpy(page, faulty_begin, faulty_end - faulty_begin);
    return ((long (*)(long, long))(uintptr_t)page)(0x40, immediate);
}

/* A timer's signal finds the pc in code that rewrites itself in a loop. */
static void on_pulse(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig, (void)info;
    if (reg[REG_RIP] >= (long)page && reg[REG_RIP] < (long)page + PAGE) {
        CHECK(reg[REG_R11] == 0x0f || reg[REG_RIP] == (long)page);
    } else {
        CHECK(is_own_text(reg[REG_RIP]));
    }
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    CHECK_IS(faulty_next - faulty_at, 3);
    handle(SIGSEGV, on_fault, 0);
    for (int i = 0; i < 100; i++) {
        immediate = 5 + i;
        way = LEAVE;
        if (!sigsetjmp(fault_out, 1))
            run();
        way = STEP_OVER;
        CHECK_IS(run(), 2 * immediate + 3 + 1);
        way = CHANGE_AND_RETRY;
        CHECK_IS(run(), 2 * immediate + 3);
    }
    CHECK_IS(arrived, 300);
    handle(SIGALRM, on_pulse, 0);
    pulse_start(SIGALRM);
    /* 1: incl imm; mov eax, imm; cmp eax, edi; jb 1b; ret, all on itself. */
    static const unsigned char loop[] = {0x41, 0xbb, 0x0f, 0, 0, 0, 0xff, 0x05, 1,    0,    0,
                                         0,    0xb8, 0,    0, 0, 0, 0x39, 0xf8, 0x72, 0xf1, 0xc3};
    for (int i = 0; i < 30; i++) {
        memcpy(page, loop, sizeof loop);
        pulse_in(1000 + 1000 * i);
        CHECK_IS(((long (*)(long))(uintptr_t)page)(100), 100);
    }
    return verdict();
}
