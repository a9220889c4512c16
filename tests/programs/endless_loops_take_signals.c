/* SPDX-License-Identifier: MIT */
/* Loops that never end by themselves, of every shape, are left by a handler that moves the pc: by hand or by siglongjmp. */
#include "check.h"

extern const char spin_leave[];
enum { LOOPS = 11 };
extern const char *const spin_begin[LOOPS], *const spin_end[LOOPS];

/* Each loop is entered by a jump from spin(which) and left only through the handler, which goes to spin_leave. */
long spin_stack;
long spin(const char *where, long *cell);
asm(".globl spin, spin_leave, spin_begin, spin_end\n"
    "spin:\n"
    "    push %rbx\n"
    "    push %rbp\n"
    "    push %r12\n"
    "    mov %rdi, %rax\n"
    "    mov $1, %ebx\n"
    "    xor %ebp, %ebp\n"
    "    lea spin_self(%rip), %r12\n"
    "    mov %rsi, %rdi\n"
    "    xor %ecx, %ecx\n"
    "    mov %rsp, spin_stack(%rip)\n"
    "    jmp *%rax\n"
    "spin_leave:\n"
    "    mov %rcx, %rax\n"
    "    pop %r12\n"
    "    pop %rbp\n"
    "    pop %rbx\n"
    "    ret\n"
    "10: jmp 10b\n"
    "11: nop\n"
    "    jmp 11b\n"
    "12: test %ebx, %ebx\n"
    "    jnz 12b\n"
    "13: inc %rbp\n"
    "    addq $1, (%rdi)\n"
    "    jmp 13b\n"
    "14: mov $2, %ecx\n"
    "    loop 14b\n"
    "    mov $1, %ecx\n"
    "    jmp 14b\n"
    "15: xor %ecx, %ecx\n"
    "    jrcxz 15b\n"
    "spin_self:\n"
    "16: jmp *%r12\n"
    "17: push %rdi\n"
    "    pop %rsi\n"
    "    call 170f\n"
    "    jmp 17b\n"
    "170: ret\n"
    "18: mov $39, %eax\n" /* getpid */
    "    syscall\n"
    "    jmp 18b\n"
    "19: pause\n"
    "    cmpl $1, %ebx\n"
    "    je 19b\n"
    "20: call 200f\n"
    "200: add $8, %rsp\n"
    "    lea 20b(%rip), %rsi\n"
    "    jmp *%rsi\n"
    "21: ud2\n"
    ".section .data.rel.ro, \"aw\"\n"
    "spin_begin: .quad 10b, 11b, 12b, 13b, 14b, 15b, 16b, 17b, 18b, 19b, 20b\n"
    "spin_end: .quad 11b, 12b, 13b, 14b, 15b, 16b, 17b, 18b, 19b, 20b, 21b\n"
    ".text\n");

static sigjmp_buf out;
static volatile int which;
static volatile bool jump_out;
static volatile long hits, misses;

static void on_timer(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    const char *pc = (const char *)reg[REG_RIP];
    (void)sig, (void)info;
    CHECK(is_own_text((uintptr_t)pc));
    if (pc < spin_begin[which] || pc >= spin_end[which]) {
        if (++misses > 200) {
            fail("loop %d is never seen running\n", which);
            _exit(1);
        }
        pulse_in(100000 * misses); /* not there yet */
        return;
    }
    misses = 0;
    hits++;
    CHECK_IS(reg[REG_RBX], 1);
    CHECK_IS(reg[REG_R12], (long)spin_begin[6]);
    if (jump_out)
        siglongjmp(out, 1);
    reg[REG_RCX] = 1000 + which;
    CHECK(reg[REG_RSP] == spin_stack || reg[REG_RSP] == spin_stack - 8);
    reg[REG_RSP] = spin_stack;
    reg[REG_RIP] = (long)spin_leave;
}

int main(void)
{
    long cell = 0;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    handle(SIGUSR1, on_timer, 0);
    pulse_start(SIGUSR1);
    for (int round = 0; round < 10 * LOOPS; round++) {
        which = round % LOOPS;
        jump_out = false;
        pulse_in(50000);
        CHECK_IS(spin(spin_begin[which], &cell), 1000 + which);
        jump_out = true;
        pulse_in(50000);
        if (!sigsetjmp(out, 1))
            spin(spin_begin[which], &cell);
        CHECK(!is_blocked(SIGUSR1));
    }
    CHECK(cell > 0);
    say("%ld loops left\n", hits);
    return verdict();
}
