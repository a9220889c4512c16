/* SPDX-License-Identifier: MIT */
/* All flags, DF and AC among them, are the same behind every kind of branch as before it; with AC set an access out of
 * line is a fault and nothing else is. */
#include "check.h"

enum { WAYS = 12, MASK = 0xcd5, AC = 0x40000 };

/* Set flags, branch, get flags; the cell is for branches through memory. */
long flags_over(long way, long flags);
asm(".globl flags_over\n"
    "flags_over:\n"
    "    push %rbx\n"
    "    lea 9f(%rip), %rdx\n"
    "    movslq (%rdx,%rdi,4), %rcx\n"
    "    add %rdx, %rcx\n"
    "    lea 2f(%rip), %rbx\n"
    "    mov %rbx, 8f(%rip)\n"
    "    push %rsi\n"
    "    popfq\n"
    "    jmp *%rcx\n"
    "10: jmp *%rbx\n"
    "11: jmp *8f(%rip)\n"
    "12: call *%r8\n"
    "    jmp 2f\n"
    "13: push %rbx\n"
    "    ret\n"
    "14: call 3f\n"
    "    jmp 2f\n"
    "15: call *7f(%rip)\n"
    "    jmp 2f\n"
    "16: mov $5, %ecx\n"
    "1:  loop 1b\n"
    "    jmp 2f\n"
    "17: mov $0, %ecx\n"
    "    jrcxz 2f\n"
    "    ud2\n"
    "18: lea -16(%rsp), %rsp\n"
    "    mov %rbx, (%rsp)\n"
    "    ret $8\n"
    "19: jc 1f\n"
    "1:  jz 1f\n"
    "1:  js 1f\n"
    "1:  jo 1f\n"
    "1:  jp 1f\n"
    "1:  jg 1f\n"
    "1:  jbe 2f\n"
    "    jmp 2f\n"
    "20: mov $39, %eax\n" /* a system call keeps them, too */
    "    syscall\n"
    "    jmp *%rbx\n"
    "21: mov %rbx, %r11\n"
    "    push %r11\n"
    "    jmp *(%rsp)\n"
    "2:  pushfq\n"
    "    pop %rax\n"
    "    cld\n"
    "    pushfq\n"
    "    andq $~0x40000, (%rsp)\n"
    "    popfq\n"
    "    cmp $11, %rdi\n"
    "    jne 1f\n"
    "    pop %rcx\n"
    "1:  pop %rbx\n"
    "    ret\n"
    "3:  ret\n"
    ".section .rodata\n"
    ".balign 4\n"
    "9:  .long 10b-9b, 11b-9b, 12b-9b, 13b-9b, 14b-9b, 15b-9b, 16b-9b, 17b-9b, 18b-9b, 19b-9b, "
    "20b-9b, 21b-9b\n"
    ".data\n"
    ".balign 8\n"
    "8:  .quad 0\n"
    ".section .data.rel.ro, \"aw\"\n"
    ".balign 8\n"
    "7:  .quad 3b\n"
    ".text\n");
void just_return(void);
asm(".globl just_return\njust_return: ret\n");

static long flags_over_r8(long way, long flags)
{
    register void (*r8)(void) asm("r8") = just_return;
    register long rdi asm("rdi") = way, rsi asm("rsi") = flags;
    long result;
    asm volatile("call flags_over"
                 : "=a"(result), "+r"(rdi), "+r"(rsi), "+r"(r8)
                 :
                 : "rcx", "rdx", "r9", "r10", "r11", "memory", "cc");
    return result;
}

static long all_combinations(long extra)
{
    long count = 0;
    for (int bits = 0; bits < 128; bits++) {
        long flags = (bits & 1) | (bits & 2 ? 4 : 0) | (bits & 4 ? 0x10 : 0) |
                     (bits & 8 ? 0x40 : 0) | (bits & 16 ? 0x80 : 0) | (bits & 32 ? 0x400 : 0) |
                     (bits & 64 ? 0x800 : 0);
        for (int way = 0; way < WAYS; way++, count++) {
            long got = flags_over_r8(way, flags | extra | 0x202);
            if ((got & (MASK | AC)) != (flags | extra))
                fail("way %d: flags 0x%lx become 0x%lx\n", way, flags | extra, got & (MASK | AC));
        }
    }
    return count;
}

/* An access out of line with AC set. */
extern const char misaligned_at[];
void misaligned(const char *p);
asm(".globl misaligned, misaligned_at\n"
    "misaligned:\n"
    "    pushfq\n"
    "    orq $0x40000, (%rsp)\n"
    "    popfq\n"
    "    mov 8(%rdi), %rax\n"
    "misaligned_at:\n"
    "    mov 1(%rdi), %r11\n"
    "    pushfq\n"
    "    andq $~0x40000, (%rsp)\n"
    "    popfq\n"
    "    ret\n");

/* AC stays set in the handler; what C does is not always in line. */
void on_bus(int sig, siginfo_t *info, void *context);
asm(".globl on_bus\n"
    "on_bus:\n"
    "    pushfq\n"
    "    andq $~0x40000, (%rsp)\n"
    "    popfq\n"
    "    jmp note_bus\n");

__attribute__((used)) void note_bus(int sig, siginfo_t *info, void *context)
{
    fault_note(sig, info, context);
}

int main(void)
{
    static const long words[4];
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    handle(SIGBUS, on_bus, 0);
    long count = all_combinations(0);
    count += all_combinations(AC);
    for (int i = 0; i < 20; i++) {
        CATCH(misaligned((const char *)words));
        CHECK_IS(fault.sig, SIGBUS);
        CHECK_IS(fault.code, BUS_ADRALN);
        CHECK_IS(fault.reg[REG_RIP], (long)misaligned_at);
        CHECK_IS(fault.reg[REG_TRAPNO], 17);
        CHECK(fault.reg[REG_EFL] & AC);
    }
    say("%ld branches\n", count);
    return verdict();
}
