/* SPDX-License-Identifier: MIT */
/* Self-modifying code in memory that can be written and run: a store changes the very next instruction, one behind it,
 * one before it, the bound or the target of its own loop, itself by copying, or its neighbour in the same line; always
 * what is there runs. */
#include "check.h"

static unsigned char *page;

/* A piece of code, copied to the page at `at`; its argument is in rdi, memory for its use in rsi. */
#define PIECE(name)                                                  \
    extern const char name##_begin[], name##_end[];                  \
    static long run_##name(size_t at, long a, long b)                \
    {                                                                \
        memcpy(page + at, name##_begin, name##_end - name##_begin);  \
        return ((long (*)(long, long))(uintptr_t)(page + at))(a, b); \
    }
PIECE(next)
PIECE(ahead)
PIECE(behind)
PIECE(bound)
PIECE(target)
PIECE(strings)
PIECE(many)
PIECE(atomic)
PIECE(backwards)
PIECE(call)
PIECE(vector)
PIECE(length)

asm(".pushsection .rodata\n"
    ".macro PIECE name\n"
    ".globl \\name\\()_begin, \\name\\()_end\n"
    "\\name\\()_begin:\n"
    ".endm\n"
    /* the immediate of the next instruction becomes edi */
    "PIECE next\n"
    "    mov %edi, 1+1f(%rip)\n"
    "1:  mov $0x11111111, %eax\n"
    "    ret\n"
    "next_end:\n"
    /* one five instructions ahead, in the same straight line */
    "PIECE ahead\n"
    "    mov %edi, 1+1f(%rip)\n"
    "    mov %rdi, %rcx\n"
    "    add $1, %rcx\n"
    "    imul $3, %rcx, %rcx\n"
    "    nop\n"
    "1:  mov $0x11111111, %eax\n"
    "    add %ecx, %eax\n"
    "    ret\n"
    "ahead_end:\n"
    /* one that has been run, and is run again */
    "PIECE behind\n"
    "    xor %ecx, %ecx\n"
    "1:  mov $1000, %eax\n"
    "    test %ecx, %ecx\n"
    "    jnz 2f\n"
    "    inc %ecx\n"
    "    mov %edi, 1+1b(%rip)\n"
    "    jmp 1b\n"
    "2:  ret\n"
    "behind_end:\n"
    /* the bound of the loop it is in moves with each turn until it is edi */
    "PIECE bound\n"
    "    movl $1, 2+2f(%rip)\n"
    "    xor %eax, %eax\n"
    "1:  inc %eax\n"
    "    cmp %edi, %eax\n"
    "    jae 3f\n"
    "    lea 1(%rax), %ecx\n"
    "    mov %ecx, 2+2f(%rip)\n"
    "3:\n"
    "2:  .byte 0x81, 0xf8, 1, 0, 0, 0\n" /* cmp $1, %eax */
    "    jb 1b\n"
    "    cmp %edi, %eax\n"
    "    jb 1b\n"
    "    ret\n"
    "bound_end:\n"
    /* the target of a jump alternates */
    "PIECE target\n"
    "    xor %eax, %eax\n"
    "1:  xorb $4, 1+2f(%rip)\n"
    "2:  .byte 0xeb, 0\n"             /* jmp to the next or four bytes on */
    "    .byte 0x83, 0xc0, 1, 0x90\n" /* add $1, %eax; nop */
    "    add $16, %eax\n"
    "    dec %edi\n"
    "    jnz 1b\n"
    "    ret\n"
    "target_end:\n"
    /* written by a string instruction, eight bytes */
    "PIECE strings\n"
    "    mov %rdi, %rax\n"
    "    lea 2+1f(%rip), %rdi\n"
    "    mov $1, %ecx\n"
    "    rep stosq\n"
    "1:  movabs $0x1111111111111111, %rax\n"
    "    ret\n"
    "strings_end:\n"
    /* six stores into one straight line, one of them undone by the next */
    "PIECE many\n"
    "    mov %dil, 2+1f(%rip)\n"
    "    xor %eax, %eax\n"
    "    movb $99, 2+2f(%rip)\n"
    "1:  add $0, %eax\n"
    "    mov %dil, 2+2f(%rip)\n"
    "2:  add $0, %eax\n"
    "    mov %dil, 2+3f(%rip)\n"
    "    mov %dil, 2+4f(%rip)\n"
    "3:  add $0, %eax\n"
    "4:  add $0, %eax\n"
    "    ret\n"
    "many_end:\n"
    /* by an exchange and a locked add */
    "PIECE atomic\n"
    "    mov %edi, %ecx\n"
    "    xchg %ecx, 1+1f(%rip)\n"
    "    lock addl $5, 1+1f(%rip)\n"
    "1:  mov $0x11111111, %eax\n"
    "    ret\n"
    "atomic_end:\n"
    /* with the direction flag set all the time */
    "PIECE backwards\n"
    "    std\n"
    "    mov %rdi, %rax\n"
    "    lea 1+1f(%rip), %rdi\n"
    "    stosl\n"
    "1:  mov $0x11111111, %eax\n"
    "    cld\n"
    "    ret\n"
    "backwards_end:\n"
    /* by the return address that a call stores: rsi has its low half first */
    "PIECE call\n"
    "    mov %rsp, %r8\n"
    "    lea 8+2+1f(%rip), %rsp\n"
    "    call 2f\n"
    "2:  mov %r8, %rsp\n"
    "1:  movabs $0x1111111111111111, %rax\n"
    "    lea 2b(%rip), %rcx\n"
    "    sub %rcx, %rax\n"
    "    add %rdi, %rax\n"
    "    ret\n"
    "call_end:\n"
    /* by a vector store, a whole instruction */
    "PIECE vector\n"
    "    movq %rsi, %xmm0\n"
    "    movq %xmm0, 1f(%rip)\n"
    "1:  mov $0x11111111, %eax\n"
    "    nop\n"
    "    nop\n"
    "    nop\n"
    "    ret\n"
    "vector_end:\n"
    /* instructions change their length: nops become one long one and back */
    "PIECE length\n"
    "    mov %rsi, 1f(%rip)\n"
    "    xor %eax, %eax\n"
    "1:  inc %eax\n"
    "    inc %eax\n"
    "    inc %eax\n"
    "    inc %eax\n"
    "    ret\n"
    "length_end:\n"
    ".popsection\n");

/* Copy the running code forward over itself, sled by sled. */
static long copies_itself(void)
{
    /* lea rsi,[rip-7]; lea rdi,[rsi+64]; mov ecx,64; rep movsb; inc eax; cmp eax, ebx -> falls into the copy */
    unsigned char walk[64];
    memset(walk, 0x90, sizeof walk);
    memcpy(walk,
           "\x48\x8d\x35\xf9\xff\xff\xff\x48\x8d\x7e\x40\xb9\x40\x00\x00\x00\xf3\xa4\xff\xc0\x39"
           "\xd8\x74\x02",
           24);
    memcpy(walk + 24, "\xeb\x26\x5b\xc3", 4); /* jmp to the copy; pop rbx; ret */
    memcpy(page, "\x53\x89\xfb\x31\xc0", 5);  /* push rbx; mov ebx, edi; xor eax, eax */
    memset(page + 5, 0xcc, 2 * PAGE - 5);
    memcpy(page + 5, walk, sizeof walk);
    return ((long (*)(long))(uintptr_t)page)(60);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    page = map(4 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int turn = 1; turn <= 60; turn++) {
        /* At ever new places, also over the border of two pages, and again at old ones. */
        size_t at = turn % 3 == 0 ? PAGE - 3 - turn % 30 : turn % 3 * 512;
        CHECK_IS(run_next(at, turn, 0), turn);
        CHECK_IS(run_ahead(at, turn, 0), turn + 3 * (turn + 1));
        CHECK_IS(run_behind(at, turn, 0), turn);
        CHECK_IS(run_bound(at, turn, 0), turn);
        CHECK_IS(run_target(at, turn, 0), 16 * turn + turn / 2);
        CHECK_IS(run_strings(at, turn * 0x123456789l, 0), turn * 0x123456789l);
        CHECK_IS(run_many(at, turn, 0), 4 * turn);
        CHECK_IS(run_atomic(at, turn, 0), turn + 5);
        CHECK_IS(run_backwards(at, turn, 0), turn);
        CHECK_IS(run_call(at, turn, 0), turn);
        CHECK_IS(run_vector(at, 0, 0x90909000000000b8 | (long)turn << 8), turn);
        CHECK_IS(run_length(at, 0, (long)0xc0ffc0ffc0ffc0ff), 4);
        CHECK_IS(run_length(at, 0, (long)0xc0ff00000002b890), 3);
    }
    CHECK_IS(copies_itself(), 60);
    CHECK_IS(copies_itself(), 60);
    return verdict();
}
