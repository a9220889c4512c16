/* SPDX-License-Identifier: MIT */
/* Very short functions do what they do wherever they are called from: their branches turn at any time, they see their own return address,
 * change it, fault and are mended, and call sites of the same one know nothing of each other. */
#include "check.h"

enum { CALLS = 5000 };

static long odd, even;
__attribute__((noinline)) static long count(long x)
{
    __asm__ volatile("" ::: "memory");
    return x & 1 ? x + 3 : x - 1;
}

/* Now one way, now the other, now both. */
static void branches_turn(void)
{
    for (int phase = 0; phase < 12; phase++)
        for (long i = 0; i < CALLS; i++) {
            long x = phase % 3 == 0 ? 2 * i : phase % 3 == 1 ? 2 * i + 1 : i;
            long y = count(x);
            CHECK(y == (x & 1 ? x + 3 : x - 1));
            odd += x & 1;
            even += !(x & 1);
        }
    CHECK(odd == even && odd == 6 * CALLS);
}

/* returns_to: its own return address. skips: returns behind two bytes that are no instruction. mends: reads, and may fault; so may pushes,
 * with the stack pointer as it is in the middle of a function. pops: gives its frame up and goes back by a jump. */
void *returns_to(void);
long skips(long x), mends(const long *p), pushes(const long *p), pops(long x), twice(long x);
extern char mend_at[], push_at[];
__asm__(".text\n"
        "returns_to: mov (%rsp), %rax\n ret\n"
        "skips: lea 1(%rdi), %rax\n addq $2, (%rsp)\n ret\n"
        "mends: xor %eax, %eax\n mend_at: mov (%rdi), %rax\n ret\n"
        "pushes: push %rbx\n mov $5, %ebx\n push_at: mov (%rdi), %rax\n add %rbx, %rax\n pop %rbx\n ret\n"
        "pops: pop %rcx\n lea 2(%rdi), %rax\n jmp *%rcx\n"
        "twice: sub $8, %rsp\n call skips\n ud2\n mov %rax, %rdi\n call skips\n ud2\n add $8, %rsp\n ret\n");

static volatile int faults;
static void mend(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;
    greg_t pc = u->uc_mcontext.gregs[REG_RIP];
    (void)signal;
    (void)info;
    CHECK(pc == (greg_t)mend_at || (pc == (greg_t)push_at && u->uc_mcontext.gregs[REG_RBX] == 5));
    u->uc_mcontext.gregs[REG_RAX] = 40;
    u->uc_mcontext.gregs[REG_RIP] = pc + 3;
    faults++;
}

__attribute__((noinline)) static void *here(void)
{
    void *back = returns_to();
    __asm__ volatile("" ::: "memory");
    return back;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = mend, .sa_flags = SA_SIGINFO};
    CHECK(!sigaction(SIGSEGV, &action, NULL));
    branches_turn();
    long sum = 0, two = 2;
    void *first = here();
    for (long i = 0; i < CALLS; i++) {
        CHECK(here() == first && (char *)first > (char *)here && (char *)first < (char *)here + 64);
        sum = twice(sum);
        sum = pops(sum);
        sum += mends(i % 100 == 7 ? NULL : &two) + pushes(i % 100 == 9 ? NULL : &two);
    }
    CHECK(sum == CALLS * (2 + 2 + 2 + 7) + CALLS / 100 * (38 + 38));
    CHECK(faults == CALLS / 50);
    return verdict();
}
