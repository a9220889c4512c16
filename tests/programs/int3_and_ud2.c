/* SPDX-License-Identifier: MIT */
/* Breakpoints, undefined instructions and traps inside ordinary loops: each raises its signal with the right pc and
 * code, and the handler that steps over it lets the loop go on. */
#include "check.h"

enum { LOOPS = 200, KINDS = 9 };
extern const char *const trap_at[KINDS], *const trap_next[KINDS];
long trapping_loop(long turns);
asm(".globl trapping_loop, trap_at, trap_next\n"
    "trapping_loop:\n"
    "    push %rbx\n"
    "    xor %ebx, %ebx\n"
    "1:  add $1, %rbx\n"
    "10: int3\n"
    "20: add $1, %rbx\n"
    "11: .byte 0xcd, 0x03\n" /* the long form of int3 */
    "21: add $1, %rbx\n"
    "12: ud2\n"
    "22: add $1, %rbx\n"
    "13: .byte 0x0f, 0xff, 0xc0\n" /* ud0 */
    "23: add $1, %rbx\n"
    "14: .byte 0x0f, 0xb9, 0xc1\n" /* ud1 */
    "24: add $1, %rbx\n"
    "15: .byte 0xf1\n" /* int1 */
    "25: add $1, %rbx\n"
    "16: hlt\n"
    "26: add $1, %rbx\n"
    "17: .byte 0xcd, 0x50\n" /* an interrupt nobody may use */
    "27: add $1, %rbx\n"
    "18: .byte 0x0f, 0x30\n" /* wrmsr */
    "28: dec %rdi\n"
    "    jnz 1b\n"
    "    mov %rbx, %rax\n"
    "    pop %rbx\n"
    "    ret\n"
    ".section .data.rel.ro, \"aw\"\n"
    "trap_at: .quad 10b, 11b, 12b, 13b, 14b, 15b, 16b, 17b, 18b\n"
    "trap_next: .quad 20b, 21b, 22b, 23b, 24b, 25b, 26b, 27b, 28b\n"
    ".text\n");

static volatile long arrived;

/* For each kind: the signal, its code, the trap's number, and whether the pc is already behind. */
static const struct {
    const char *name;
    int sig, code, trap;
    bool behind, tells_address;
} kinds[KINDS] = {
    {"int3", SIGTRAP, SI_KERNEL, 3, true, false},
    {"int 3", SIGTRAP, SI_KERNEL, 3, true, false},
    {"ud2", SIGILL, ILL_ILLOPN, 6, false, true},
    {"ud0", SIGILL, ILL_ILLOPN, 6, false, true},
    {"ud1", SIGILL, ILL_ILLOPN, 6, false, true},
    {"int1", SIGTRAP, TRAP_BRKPT, 1, true, true},
    {"hlt", SIGSEGV, SI_KERNEL, 13, false, false},
    {"int 0x50", SIGSEGV, SI_KERNEL, 13, false, false},
    {"wrmsr", SIGSEGV, SI_KERNEL, 13, false, false},
};

static void on_trap(int sig, siginfo_t *info, void *context)
{
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    int k = arrived % KINDS;
    const char *pc = kinds[k].behind ? trap_next[k] : trap_at[k];
    /* Under some hypervisors the pc of int1 is the instruction itself. */
    if (kinds[k].trap == 1 && reg[REG_RIP] == (long)trap_at[k])
        pc = trap_at[k];
    if (sig != kinds[k].sig || info->si_code != kinds[k].code || reg[REG_TRAPNO] != kinds[k].trap)
        fail("%s: signal %d, code %d, trap %ld\n", kinds[k].name, sig, info->si_code,
             (long)reg[REG_TRAPNO]);
    if (reg[REG_RIP] != (long)pc)
        fail("%s: the pc is %ld off\n", kinds[k].name, (long)reg[REG_RIP] - (long)pc);
    if (info->si_addr != (kinds[k].tells_address ? pc : NULL))
        fail("%s: the address is %ld off\n", kinds[k].name, (long)info->si_addr - (long)pc);
    CHECK_IS(reg[REG_RBX], arrived + 1);
    CHECK_IS(reg[REG_RDI], LOOPS - arrived / KINDS);
    CHECK(!(reg[REG_EFL] & 0x100));
    if (kinds[k].trap == 1 && arrived < KINDS)
        say("int1 is found %s it\n", pc == trap_at[k] ? "at" : "behind");
    reg[REG_RIP] = (long)trap_next[k];
    arrived++;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    handle(SIGTRAP, on_trap, 0);
    handle(SIGILL, on_trap, 0);
    handle(SIGSEGV, on_trap, 0);
    CHECK_IS(trapping_loop(LOOPS), LOOPS * KINDS);
    say("%ld traps\n", arrived);
    return verdict();
}
