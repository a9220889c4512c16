/* SPDX-License-Identifier: MIT */
/* Encodings that manuals leave out but processors run: aliases of x87, shift and test instructions, reserved nops,
 * redundant prefixes, branches with hints, moves of segment registers. Each does what it does natively. */
#include "check.h"

struct alias {
    const char *at, *text;
};
extern const struct alias aliases[], aliases_end[];
/* Each gets rax = 0x1122334455667788, rcx = 3, rdx = 1, r8 at a buffer, st0 = 2, st1 = 3, flags clear. */
asm(".section .data.rel.ro.aliases, \"aw\"\n"
    ".balign 8\n"
    ".globl aliases\n"
    "aliases:\n"
    ".text\n"
    ".macro ALIAS bytes:vararg\n"
    "770: .byte \\bytes\n"
    "    ret\n"
    "772: .asciz \"\\bytes\"\n"
    ".pushsection .data.rel.ro.aliases, \"aw\"\n"
    "    .quad 770b, 772b\n"
    ".popsection\n"
    ".endm\n"
    "ALIAS 0xc0,0xf0,0x02\n" /* shl, as /6 */
    "ALIAS 0xc1,0xf0,0x04\n"
    "ALIAS 0x48,0xd1,0xf0\n"
    "ALIAS 0xd3,0xf0\n"
    "ALIAS 0xf6,0xc8,0x0f\n" /* test, as /1 */
    "ALIAS 0x48,0xf7,0xc8,0x88,0,0,0\n"
    "ALIAS 0xdc,0xd1\n" /* fcom2 */
    "ALIAS 0xdc,0xd9\n" /* fcomp3 */
    "ALIAS 0xde,0xd1\n" /* fcomp5 */
    "ALIAS 0xdd,0xc9\n" /* fxch4 */
    "ALIAS 0xdf,0xc9\n" /* fxch7 */
    "ALIAS 0xd9,0xd9\n" /* fstp1 */
    "ALIAS 0xdf,0xd1\n" /* fstp8 */
    "ALIAS 0xdf,0xd9\n" /* fstp9 */
    "ALIAS 0xdf,0xc1\n" /* ffreep */
    "ALIAS 0xdb,0xe0\n" /* feni, a nop today */
    "ALIAS 0xdb,0xe1\n"
    "ALIAS 0xdb,0xe4\n"
    "ALIAS 0x0f,0x19,0xc0\n" /* reserved nops */
    "ALIAS 0x0f,0x1c,0xc8\n"
    "ALIAS 0x0f,0x1d,0x00\n"
    "ALIAS 0x0f,0x1e,0xc0\n"
    "ALIAS 0xf2,0x0f,0x1f,0xc0\n"
    "ALIAS 0x66,0x0f,0x1f,0x44,0,0\n"
    "ALIAS 0x48,0x0f,0x1f,0xc0\n"
    "ALIAS 0x48,0x90\n" /* wide nop */
    "ALIAS 0x49,0x90\n" /* xchg r8, rax: no nop at all */
    "ALIAS 0x41,0x90\n"
    "ALIAS 0xf3,0x41,0x90\n"
    "ALIAS 0x87,0xc0\n" /* clears the upper half */
    "ALIAS 0x0f,0x0d,0xc0\n"
    "ALIAS 0xf2,0x48,0x01,0xc8\n" /* prefixes without a meaning */
    "ALIAS 0xf3,0x48,0x29,0xc8\n"
    "ALIAS 0x2e,0x65,0x3e,0x48,0x01,0xc8\n"
    "ALIAS 0x48,0x40,0x01,0xc8\n" /* the first rex does not count */
    "ALIAS 0x66,0x66,0x01,0xc8\n"
    "ALIAS 0x67,0x8d,0x44,0x08,0x01\n"
    "ALIAS 0x64,0x8d,0x44,0x08,0x01\n" /* a segment does not matter to lea */
    "ALIAS 0x3e,0xeb,0x00\n"
    "ALIAS 0xf2,0xeb,0x00\n"
    "ALIAS 0x48,0xeb,0x00\n"
    "ALIAS 0xe3,0x00\n"
    "ALIAS 0x67,0xe3,0x00\n"
    "ALIAS 0x67,0xe2,0x00\n" /* loop on ecx */
    "ALIAS 0xe2,0x00\n"
    "ALIAS 0xe1,0x00\n"
    "ALIAS 0x48,0x0f,0xbd,0xc1\n"
    "ALIAS 0xf3,0x48,0x0f,0xbd,0xc1\n" /* lzcnt, or bsr with a rep */
    "ALIAS 0xf3,0x48,0x0f,0xbc,0xc1\n"
    "ALIAS 0x8c,0xd9\n" /* mov ecx, ds */
    "ALIAS 0x48,0x8c,0xc9\n"
    "ALIAS 0x66,0x8c,0xc1\n"
    "ALIAS 0x8e,0xdb,0x31,0xc9\n"
    "ALIAS 0xc8,0x08,0x00,0x03,0xc9\n" /* enter with a display, leave */
    "ALIAS 0x66,0x50,0x66,0x59\n"      /* push and pop of 16 bits */
    "ALIAS 0x66,0x9c,0x66,0x59\n"
    "ALIAS 0x66,0x6a,0xff,0x66,0x59\n"
    "ALIAS 0x0f,0xc8\n"
    "ALIAS 0x66,0x98\n"
    "ALIAS 0x48,0x63,0xc9\n"
    "ALIAS 0x63,0xc9\n"
    "ALIAS 0x9b,0xdb,0xe2\n" /* wait, fnclex */
    "ALIAS 0x9b,0x90\n"
    ".pushsection .data.rel.ro.aliases, \"aw\"\n"
    ".globl aliases_end\n"
    "aliases_end:\n"
    ".popsection\n");

/* What is left in the registers and in the x87 state. */
struct left {
    long rax, rcx, rdx, r8, flags;
    unsigned char x87[108];
} left;
const long double two = 2, three = 3;
void *alias_stack;
void run_alias(const char *at);
asm(".globl run_alias\n"
    "run_alias:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rsp, alias_stack(%rip)\n"
    "    mov %rdi, %r10\n"
    "    fninit\n"
    "    fldt three(%rip)\n"
    "    fldt two(%rip)\n"
    "    mov %rsp, %rbp\n"
    "    sub $256, %rsp\n"
    "    xor %ebx, %ebx\n"
    "    mov $0x1122334455667788, %rax\n"
    "    mov $3, %ecx\n"
    "    mov $1, %edx\n"
    "    mov $0x99, %r8d\n"
    "    pushq $0x202\n"
    "    popfq\n"
    "    call *%r10\n"
    "    mov %rax, left(%rip)\n"
    "    mov %rcx, 8+left(%rip)\n"
    "    mov %rdx, 16+left(%rip)\n"
    "    mov %r8, 24+left(%rip)\n"
    "    mov alias_stack(%rip), %rsp\n"
    "    pushfq\n"
    "    popq 32+left(%rip)\n"
    "    fnsave 40+left(%rip)\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");

/* Of the x87 state everything but the pointers to instruction and operand. */
static uint32_t x87_hash(void)
{
    uint32_t hash = 1;
    for (int i = 0; i < 108; i++)
        if (i < 10 || i >= 28)
            hash = hash * 31 + left.x87[i];
    return hash;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    for (int turn = 0; turn < 3; turn++)
        for (const struct alias *volatile a = aliases; a < aliases_end; a++) {
            struct left before = left;
            CATCH(run_alias(a->at));
            if (fault.sig) {
                asm volatile("fninit");
                CHECK_IS(fault.reg[REG_RIP], (long)a->at);
                left = before;
            }
            if (turn == 0 && fault.sig)
                say("%s: signal %d\n", a->text, fault.sig);
            else if (turn == 0)
                say("%s: %016lx %016lx %lx %lx flags %03lx x87 %08x\n", a->text, left.rax, left.rcx,
                    left.rdx, left.r8, left.flags & 0xcd5, x87_hash());
        }
    return verdict();
}
