/* SPDX-License-Identifier: MIT */
/* Jumps, calls and returns to where nothing can run: unmapped, not executable, closed, not canonical, of the kernel, off
 * the end of a page, or no longer what it was. The fault's pc, address and registers are those of the target, not of the
 * branch. */
#include "check.h"

enum { WAYS = 6 };
/* Branch to rsi in one of several ways, with known registers. */
void go(long way, const void *target);
extern const char *const branch_at[WAYS];
void *go_stack;
const void *go_target;
asm(".globl go, branch_at\n"
    "go:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r15\n"
    "    mov %rsp, go_stack(%rip)\n"
    "    mov $0x1b, %ebx\n"
    "    mov $0x1c, %r12d\n"
    "    mov $0x1f, %r15d\n"
    "    mov $0x1a, %r10d\n"
    "    mov %rsi, %r11\n"
    "    mov %rsi, go_target(%rip)\n"
    "    xor %eax, %eax\n"
    "    lea 9f(%rip), %rdx\n"
    "    movslq (%rdx,%rdi,4), %rcx\n"
    "    add %rdx, %rcx\n"
    "    jmp *%rcx\n"
    "10: jmp *%r11\n"
    "11: call *%r11\n"
    "    jmp 8f\n"
    "120: push %rsi\n"
    "12: ret\n"
    "13: jmp *go_target(%rip)\n"
    "14: call *go_target(%rip)\n"
    "    jmp 8f\n"
    "150: push %rsi\n"
    "    lea 7f(%rip), %rdx\n"
    "    xchg %rdx, (%rsp)\n"
    "    push %rdx\n"
    "15: ret\n"
    "7:  nop\n"
    "8:  pop %r15\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    ret\n"
    ".section .rodata\n"
    ".balign 4\n"
    "9:  .long 10b-9b, 11b-9b, 120b-9b, 13b-9b, 14b-9b, 150b-9b\n"
    ".section .data.rel.ro, \"aw\"\n"
    "branch_at: .quad 10b, 11b, 12b, 13b, 14b, 15b\n"
    ".text\n");

static void check_registers(int way)
{
    /* Calls have pushed; the last way has a word left, too. */
    long pushed = way == 1 || way == 4 || way == 5 ? 8 : 0;
    CHECK_IS(fault.reg[REG_RSP], (long)go_stack - pushed);
    CHECK_IS(fault.reg[REG_RBX], 0x1b);
    CHECK_IS(fault.reg[REG_R12], 0x1c);
    CHECK_IS(fault.reg[REG_R15], 0x1f);
    CHECK_IS(fault.reg[REG_R10], 0x1a);
    CHECK_IS(fault.reg[REG_R11], (long)go_target);
    CHECK_IS(fault.reg[REG_RAX], 0);
}

static void bad_target(const char *name, const void *target, int code, const void *address)
{
    for (int turn = 0; turn < 3; turn++)
        for (int way = 0; way < WAYS; way++) {
            CATCH(go(way, target));
            CHECK_IS(fault.sig, SIGSEGV);
            CHECK_IS(fault.code, code);
            CHECK_IS(fault.addr, address);
            CHECK_IS(fault.reg[REG_RIP], (long)target);
            CHECK_IS(fault.reg[REG_TRAPNO], 14);
            CHECK_IS(fault.reg[REG_ERR] & 0x14, 0x14); /* by the user, fetching */
            check_registers(way);
        }
    say("%s\n", name);
}

/* The processor may complain at the branch or at the target; say which. */
static void not_canonical(void)
{
    const void *target = (void *)0x1234567812345678;
    for (int way = 0; way < WAYS; way++) {
        CATCH(go(way, target));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.code, SI_KERNEL);
        CHECK_IS(fault.addr, 0);
        CHECK_IS(fault.reg[REG_TRAPNO], 13);
        bool at_target = fault.reg[REG_RIP] == (long)target;
        /* Processors differ. */
        CHECK(at_target || fault.reg[REG_RIP] == (long)branch_at[way]);
    }
}

/* Code in the last bytes of a page whose neighbour cannot be run. */
static void off_the_end(int neighbour)
{
    char *page = map(2 * PAGE, PROT_READ | PROT_WRITE), *next = page + PAGE;
    memset(page, 0x90, PAGE);
    memcpy(next - 9, "\xb9\x05\x00\x00\x00\xff\xc0\xff\xc0", 9);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    if (neighbour)
        mprotect(next, PAGE, neighbour == 1 ? PROT_NONE : PROT_READ | PROT_WRITE);
    else
        munmap(next, PAGE);
    for (int turn = 0; turn < 3; turn++) {
        /* Run off: the fault is at the first byte of the neighbour, with everything before done. */
        CATCH(go(0, next - 9));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.code, neighbour ? SEGV_ACCERR : SEGV_MAPERR);
        CHECK_IS(fault.addr, next);
        CHECK_IS(fault.reg[REG_RIP], (long)next);
        CHECK_IS(fault.reg[REG_RAX], 2);
        CHECK_IS(fault.reg[REG_RCX], 5);
        CATCH(go(0, next - 200));
        CHECK_IS(fault.reg[REG_RIP], (long)next);
        CHECK_IS(fault.reg[REG_RAX], 2);
    }
    /* An instruction over the border: its own pc, the neighbour's address. */
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    memcpy(next - 9, "\x90\x90\x90\x90\x90\x90\xb8\x01\x00", 9);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    CATCH(go(0, next - 6));
    CHECK_IS(fault.addr, next);
    CHECK_IS(fault.reg[REG_RIP], (long)next - 3);
    /* A system call as the last instruction is made. */
    mprotect(page, PAGE, PROT_READ | PROT_WRITE);
    memcpy(next - 7, "\xb8\x27\x00\x00\x00\x0f\x05", 7);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    CATCH(go(0, next - 7));
    CHECK_IS(fault.reg[REG_RIP], (long)next);
    CHECK_IS(fault.reg[REG_RAX], getpid());
    CHECK_IS(fault.reg[REG_RCX], (long)next);
    munmap(page, PAGE);
}

/* Code that was run, then taken away in several ways, then given back. */
static void taken_away(void)
{
    char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(page, 5);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    for (int turn = 0; turn < 20; turn++) {
        CHECK_IS(call_code(page), 5);
        mprotect(page, PAGE, turn % 2 ? PROT_NONE : PROT_READ);
        CATCH(call_code(page));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.code, SEGV_ACCERR);
        CHECK_IS(fault.reg[REG_RIP], (long)page);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        CHECK_IS(call_code(page), 5);
    }
    munmap(page, PAGE);
    CATCH(call_code(page));
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK_IS(fault.code, SEGV_MAPERR);
    CHECK_IS(fault.addr, page);
}

/* The middle of an instruction is as good a place as any. */
int overlapping(long how);
asm(".globl overlapping\n"
    "overlapping:\n"
    "    lea 1f(%rip), %rax\n"
    "    add %rdi, %rax\n"
    "    jmp *%rax\n"
    "1:  mov $0xc3c0ff50, %eax\n" /* +1: push rax; inc eax; ret */
    "    ret\n"
    "2:  mov $0x9066c3c031c0ff, %r11\n" /* +8: inc eax; xor eax, eax; ret */
    "    ret\n");

static void middle(void)
{
    for (int turn = 0; turn < 5; turn++) {
        CHECK_IS((unsigned)overlapping(0), 0xc3c0ff50);
        CHECK_IS(overlapping(8), 0);
    }
}

int main(void)
{
    stack_t alt = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    watchdog(WATCHDOG_SECONDS);
    sigaltstack(&alt, NULL);
    catch_faults(SA_ONSTACK);
    char *data = map(PAGE, PROT_READ | PROT_WRITE), *none = map(PAGE, PROT_NONE),
         *gone = map(PAGE, PROT_READ);
    munmap(gone, PAGE);
    bad_target("null", NULL, SEGV_MAPERR, NULL);
    bad_target("unmapped, low", (void *)0x10, SEGV_MAPERR, (void *)0x10);
    bad_target("unmapped", gone + 5, SEGV_MAPERR, gone + 5);
    bad_target("closed", none + 100, SEGV_ACCERR, none + 100);
    bad_target("data", data + 3, SEGV_ACCERR, data + 3);
    bad_target("of the kernel", (void *)0xffff800000001000, SEGV_MAPERR,
               (void *)0xffff800000001000);
    bad_target("last of the user's", (void *)0x7fffffffe000, SEGV_MAPERR, (void *)0x7fffffffe000);
    not_canonical();
    for (int neighbour = 0; neighbour < 3; neighbour++)
        off_the_end(neighbour);
    taken_away();
    middle();
    return verdict();
}
