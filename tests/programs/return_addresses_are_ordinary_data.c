/* SPDX-License-Identifier: MIT */
/* Programs read, change, copy and invent return addresses: call and pop, return elsewhere, return twice, return to where
 * no call was, jumps by push and return, recursion deeper than any predictor, one return with hundreds of targets. */
#include "check.h"
#include <execinfo.h>

enum { SITES = 300 };
extern const char popped_at[], site_begin[];
long call_pop(void), return_elsewhere(void), call_next(void), push_return(long n), skip_one(void),
    swap_two(void);
long unbalanced(long n), recursion(long n), all_sites(long n);
asm(".globl call_pop, popped_at, return_elsewhere, call_next, push_return, skip_one, swap_two, "
    "unbalanced\n"
    ".globl recursion, all_sites, site_begin\n"
    "call_pop:\n"
    "    call 1f\n"
    "popped_at:\n"
    "1:  pop %rax\n"
    "    ret\n"
    "return_elsewhere:\n"
    "    xor %eax, %eax\n"
    "    call 1f\n"
    "    mov $1, %eax\n"
    "    ret\n"
    "2:  add $10, %eax\n"
    "    ret\n"
    "1:  lea 2b(%rip), %rcx\n"
    "    mov %rcx, (%rsp)\n"
    "    add $5, %eax\n"
    "    ret\n"
    "call_next:\n" /* calls that go on: each runs the rest, twice as often */
    "    xor %eax, %eax\n"
    "    call 1f\n"
    "1:  call 1f\n"
    "1:  call 1f\n"
    "1:  call 1f\n"
    "1:  inc %rax\n"
    "    ret\n"
    "push_return:\n" /* a jump table by returns, never called */
    "    push %rbx\n"
    "    xor %eax, %eax\n"
    "1:  lea 2f(%rip), %rdx\n"
    "    mov %rdi, %rcx\n"
    "    and $3, %ecx\n"
    "    lea (%rdx,%rcx,8), %rdx\n"
    "    push %rdx\n"
    "    ret\n"
    ".balign 8\n"
    "2:  add $1, %rax\n"
    "    jmp 3f\n"
    ".balign 8\n"
    "    add $10, %rax\n"
    "    jmp 3f\n"
    ".balign 8\n"
    "    add $100, %rax\n"
    "    jmp 3f\n"
    ".balign 8\n"
    "    sub $7, %rax\n"
    "    nop\n"
    "3:  dec %rdi\n"
    "    jns 1b\n"
    "    pop %rbx\n"
    "    ret\n"
    "skip_one:\n" /* the callee returns two bytes further than it was called from */
    "    xor %eax, %eax\n"
    "    call 1f\n"
    "    ud2\n"
    "    add $3, %eax\n"
    "    call 1f\n"
    "    ud2\n"
    "    add $4, %eax\n"
    "    ret\n"
    "1:  addq $2, (%rsp)\n"
    "    ret\n"
    "swap_two:\n" /* two addresses on the stack change places */
    "    xor %eax, %eax\n"
    "    call 1f\n"
    "    lea 1(%rax,%rax), %rax\n"
    "    ret\n"
    "1:  call 2f\n"
    "    lea 3(%rax,%rax), %rax\n"
    "    ret\n"
    "2:  pop %rcx\n"
    "    pop %rdx\n"
    "    push %rcx\n"
    "    push %rdx\n"
    "    mov $5, %eax\n"
    "    ret\n"
    "unbalanced:\n" /* calls without returns, all dropped at once */
    "    push %rbx\n"
    "    mov %rsp, %rbx\n"
    "    xor %eax, %eax\n"
    "1:  call 2f\n"
    "    ud2\n"
    "2:  inc %rax\n"
    "    cmp %rdi, %rax\n"
    "    jb 1b\n"
    "    mov %rbx, %rsp\n"
    "    pop %rbx\n"
    "    ret\n"
    "recursion:\n"
    "    test %rdi, %rdi\n"
    "    jz 1f\n"
    "    push %rdi\n"
    "    dec %rdi\n"
    "    call recursion\n"
    "    pop %rdi\n"
    "    add %rdi, %rax\n"
    "    ret\n"
    "1:  xor %eax, %eax\n"
    "    ret\n"
    "all_sites:\n" /* three hundred calls of one function, its one return */
    "    xor %eax, %eax\n"
    "2:\n"
    "site_begin:\n"
    "i = 0\n"
    ".rept 300\n"
    "    call 3f\n"
    "    lea i(%rax), %rax\n"
    "i = i + 1\n"
    ".endr\n"
    "    dec %rdi\n"
    "    jnz 2b\n"
    "    ret\n"
    "3:  add (%rsp), %rax\n" /* the address itself is summed up, too */
    "    sub site_pointer(%rip), %rax\n"
    "    ret\n"
    ".section .data.rel.ro, \"aw\"\n"
    "site_pointer: .quad site_begin\n"
    ".text\n");

__attribute__((noinline)) static long own_return_address(void)
{
    return (long)__builtin_return_address(0);
}

/* Unwinding sees the program's own addresses only. */
__attribute__((noinline)) static int unwind(int depth)
{
    void *frames[64];
    if (depth)
        return unwind(depth - 1) + 1;
    int n = backtrace(frames, 64);
    for (int i = 0; i < n; i++)
        CHECK(is_own_text((uintptr_t)frames[i]));
    return n;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    setrlimit(RLIMIT_STACK, &(struct rlimit){64 << 20, RLIM_INFINITY});
    for (int turn = 0; turn < 10; turn++) {
        CHECK_IS(call_pop(), (long)popped_at);
        CHECK_IS(return_elsewhere(), 15);
        CHECK_IS(call_next(), 16);
        CHECK_IS(push_return(100), push_return(100));
        CHECK_IS(push_return(7), 2 * (1 + 10 + 100 - 7));
        CHECK_IS(skip_one(), 7);
        CHECK_IS(swap_two(), (5 * 2 + 1) * 2 + 3);
        CHECK_IS(unbalanced(500), 500);
        CHECK_IS(recursion(20000), 20000l * 20001 / 2);
        CHECK(is_own_text(own_return_address()));
        CHECK(unwind(turn) >= turn + 3);
    }
    long sites = all_sites(20);
    CHECK_IS(sites % 20, 0);
    say("sites %ld\n", sites);
    return verdict();
}
