// SPDX-License-Identifier: MIT
// Frames end in every way there is: returns, tail calls, longjmp, exceptions, handlers, other stacks.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#define OWN extern "C" __attribute__((noinline, noclone))

static volatile long sink;
static jmp_buf place;
static sigjmp_buf signal_place;

OWN void work(long n)
{
    for (long i = 0; i < n; i++)
        sink += i;
}

// -- Recursion, pointers, tail calls

OWN long fib(long n)
{
    return n < 2 ? n : fib(n - 1) ^ fib(n - 2) * 3; // no sum, of which a compiler would make a loop
}

OWN long is_odd(long n);
OWN long is_even(long n)
{
    sink++;
    return n ? is_odd(n - 1) : 1;
}
OWN long is_odd(long n)
{
    sink++;
    return n ? is_even(n - 1) : 0;
}

OWN void last(long n)
{
    work(n);
    work(1);
}
OWN void middle(long n)
{
    work(2);
    last(n); // a jump
}
OWN void with_tail_calls(long n)
{
    work(3);
    middle(n);
    work(4);
}

static void (*volatile pointers[])(long) = {work, last, with_tail_calls};
OWN void through_pointers()
{
    for (long i = 0; i < 9; i++)
        pointers[i % 3](i);
}

OWN int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}
OWN void sort_some()
{
    int v[50];
    for (int i = 0; i < 50; i++)
        v[i] = i * 7919 % 101;
    qsort(v, 50, sizeof *v, by_value);
    sink += v[3];
}

// Odd code: a return address that is popped, a jump by a return, a function that pops its argument.
asm(".pushsection .text\n"
    ".type odd_code, @function\n odd_code:\n"
    "   call 1f\n"
    "1: pop %rax\n"
    "   lea 2f(%rip), %rax\n   push %rax\n   ret\n"
    "2: push $5\n   call pops_its_argument\n"
    "   mov $3, %edi\n"
    "   jmp work\n"
    ".size odd_code, .-odd_code\n"
    ".type pops_its_argument, @function\n pops_its_argument:\n"
    "   mov 8(%rsp), %rax\n   ret $8\n"
    ".size pops_its_argument, .-pops_its_argument\n"
    ".type far_branch, @function\n far_branch:\n"
    "   test %edi, %edi\n   jz after_the_gap\n"
    "   dec %edi\n   call far_branch\n   ret\n"
    ".size far_branch, .-far_branch\n"
    ".skip 5000, 0x90\n"
    ".type after_the_gap, @function\n after_the_gap:\n"
    "   sub $8, %rsp\n   mov $4, %edi\n   call work\n   add $8, %rsp\n   ret\n"
    ".size after_the_gap, .-after_the_gap\n"
    ".type with_a_base, @function\n with_a_base:\n"
    "   push %rbp\n   mov %rsp, %rbp\n   sub %rdi, %rsp\n"
    "   mov $2, %edi\n   call work\n   mov $1, %edi\n"
    "   leave\n   jmp work\n"
    ".size with_a_base, .-with_a_base\n"
    // Out of a frame and on: what tells the stack pointer stands between two places where it is set.
    ".type hops, @function\n hops:\n"
    "   push %rbp\n   mov %rsp, %rbp\n"
    "2: mov %rsp, %rcx\n   lea 1f(%rip), %rax\n   call hops_out\n"
    "1: inc %edx\n   inc %edx\n   push %rdx\n   pop %rdx\n   inc %edx\n   lea (%rbp), %rsp\n"
    "   dec %edi\n   jnz 2b\n   pop %rbp\n   ret\n"
    ".size hops, .-hops\n"
    ".type hops_out, @function\n hops_out:\n"
    "   mov %rcx, %rsp\n   jmp *%rax\n"
    ".size hops_out, .-hops_out\n"
    // As many references as a register says, before, in and behind a call.
    ".type copies, @function\n copies:\n"
    "   mov %rdi, %r8\n   lea 100(%rdi), %r9\n"
    "   mov %r8, %rsi\n   mov %r9, %rdi\n   mov $5, %ecx\n   rep movsb\n"
    "   call fills\n"
    "   mov %r9, %rdi\n   mov $11, %ecx\n   repne scasb\n"
    "   jmp 1f\n"
    "1: mov %r8, %rsi\n   mov $13, %ecx\n   rep lodsb\n"
    "   mov %r9, %rdi\n   jmp fills\n"
    ".size copies, .-copies\n"
    ".type fills, @function\n fills:\n"
    "   mov $7, %ecx\n   mov $1, %al\n   rep stosb\n   mov $255, %al\n   ret\n"
    ".size fills, .-fills\n"
    // A fault below where its unit began; the handler lets it be repeated.
    ".type faults_below, @function\n faults_below:\n"
    "   push %rbx\n   sub $0x200, %rsp\n   mov (%rdi), %rbx\n   add $0x200, %rsp\n   pop %rbx\n"
    "   mov $2, %edi\n   jmp work\n"
    ".size faults_below, .-faults_below\n"
    ".popsection\n");
extern "C" void odd_code();
extern "C" void far_branch(int);
extern "C" void with_a_base(long);
extern "C" void hops(long);
extern "C" void copies(char *room);
extern "C" void faults_below(void *page);

// -- Jumps and exceptions out of many frames

OWN void dig(long n, bool throws)
{
    char room[40];
    memset(room, (int)n, sizeof room);
    sink += room[n % 40];
    if (n)
        dig(n - 1, throws);
    else if (throws)
        throw std::runtime_error("from below");
    else
        longjmp(place, 1);
    sink += room[0];
}

OWN void jumps_out(long n)
{
    if (setjmp(place) == 0)
        dig(n, false);
    for (int i = 0; i < 20; i++) // no call behind the jump: whose instructions are these?
        sink += i;
}

struct Guard {
    ~Guard() { work(5); }
};

OWN void passes_it_on(long n)
{
    Guard guard;
    dig(n, true);
    work(6);
}

OWN void catches(long n)
{
    try {
        passes_it_on(n);
    } catch (const std::runtime_error &e) {
        work((long)strlen(e.what()));
    }
    work(7);
}

OWN void catches_and_throws()
{
    try {
        try {
            passes_it_on(2);
        } catch (...) {
            work(8);
            throw;
        }
    } catch (...) {
        work(9);
    }
}

// -- Signals

OWN void on_signal(int n)
{
    work(n);
    if (n == SIGUSR1)
        raise(SIGUSR2); // one in the other
}
OWN void on_jump(int)
{
    work(11);
    siglongjmp(signal_place, 1);
}

OWN void handle(int n, void (*f)(int), int flags)
{
    struct sigaction a = {};
    a.sa_handler = f;
    a.sa_flags = flags;
    sigaction(n, &a, nullptr);
}

OWN void is_interrupted()
{
    work(12);
    raise(SIGUSR1);
    work(13);
}

OWN void faults(volatile long *p)
{
    sink += *p;
}

static char *page;
OWN void on_repair(int)
{
    mprotect(page, 4096, PROT_READ);
}
OWN void repairs()
{
    handle(SIGSEGV, on_repair, SA_ONSTACK);
    page = (char *)mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    faults_below(page);
    munmap(page, 4096);
}

OWN void jumps_out_of_handlers(int flags)
{
    handle(SIGTERM, on_jump, flags);
    handle(SIGSEGV, on_jump, flags);
    if (sigsetjmp(signal_place, 1) == 0)
        raise(SIGTERM);
    for (int i = 0; i < 10; i++)
        sink += i;
    faults(&sink);
    if (sigsetjmp(signal_place, 1) == 0)
        faults(nullptr); // with its first instruction
    if (sigsetjmp(signal_place, 1) == 0)
        sink += *(volatile long *)16; // in this very function
    work(14);
}

OWN void signals()
{
    static char stack[65536];
    stack_t s = {};
    handle(SIGUSR1, on_signal, 0);
    handle(SIGUSR2, on_signal, 0);
    is_interrupted();
    jumps_out_of_handlers(0);
    s.ss_sp = stack;
    s.ss_size = sizeof stack;
    sigaltstack(&s, nullptr);
    handle(SIGUSR1, on_signal, SA_ONSTACK);
    handle(SIGUSR2, on_signal, SA_ONSTACK | SA_NODEFER);
    is_interrupted();
    jumps_out_of_handlers(SA_ONSTACK);
    is_interrupted();
    repairs();
}

// -- Other stacks

static ucontext_t scheduler, routine[2];

// Frames of 16 MB, on a stack of 64: the stack pointer moves as far as if it were on another one.
static ucontext_t far_away;
OWN void has_room_for_more(long n)
{
    volatile char room[16 << 20];
    room[n] = (char)n;
    for (long i = 0; i < 3; i++)
        work(room[n] + i);
    if (n)
        has_room_for_more(n - 1);
    sink += room[n];
}
OWN void other_way(long n)
{
    has_room_for_more(n);
    sink++;
}
OWN void far_main()
{
    has_room_for_more(1);
    other_way(0);
    other_way(1);
}
OWN void *map_stack(size_t size)
{
    return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}
OWN void frames_far_away()
{
    getcontext(&far_away);
    far_away.uc_stack.ss_size = 64 << 20;
    far_away.uc_stack.ss_sp = map_stack(far_away.uc_stack.ss_size);
    far_away.uc_link = &scheduler;
    makecontext(&far_away, far_main, 0);
    swapcontext(&scheduler, &far_away);
    munmap(far_away.uc_stack.ss_sp, far_away.uc_stack.ss_size);
    work(19);
}

// Calls on a stack that is nobody's, and below the frames of a routine that waits.
asm(".pushsection .text\n"
    ".type call_on, @function\n call_on:\n"
    "   push %rbp\n   mov %rsp, %rbp\n   mov %rdi, %rsp\n   mov %rdx, %rdi\n"
    "   push %rdi\n   push %rsi\n   call *%rsi\n   pop %rsi\n   pop %rdi\n"
    "   jmp 1f\n"
    "1: call *%rsi\n"
    "   mov %rbp, %rsp\n   pop %rbp\n   ret\n"
    ".size call_on, .-call_on\n"
    ".popsection\n");
extern "C" void call_on(void *top, void (*f)(long), long n);
OWN void calls_elsewhere(char *stack)
{
    call_on(stack + (64 << 10), last, 3);
    call_on(stack + (64 << 10), with_tail_calls, 4);
    sink++;
}

OWN void yields(int i)
{
    work(15);
    swapcontext(&routine[i], &scheduler);
    work(16);
}
// A routine that is given up deep below; others use its stack.
static ucontext_t given_up;
OWN void descends(long n)
{
    volatile char room[6000];
    room[0] = (char)n;
    if (n)
        descends(n - 1);
    else
        swapcontext(&given_up, &scheduler);
    sink += room[0];
}
OWN void descend_main()
{
    descends(4);
}
OWN void gives_up()
{
    getcontext(&given_up);
    given_up.uc_stack.ss_size = 256 << 10;
    given_up.uc_stack.ss_sp = map_stack(given_up.uc_stack.ss_size);
    makecontext(&given_up, descend_main, 0);
    swapcontext(&scheduler, &given_up);
    char *top = (char *)given_up.uc_stack.ss_sp + given_up.uc_stack.ss_size;
    call_on(top - 16000, last, 2); // below some of its frames
    sink++;
    call_on(top - 64, with_tail_calls, 3); // above all
    sink++;
}

OWN void routine_main(int i)
{
    for (int k = 0; k < 3; k++)
        yields(i);
}
OWN void resume(int i)
{
    work(17);
    swapcontext(&scheduler, &routine[i]);
    work(18);
}
OWN void routines()
{
    for (int i = 0; i < 2; i++) {
        size_t size = 256 << 10;
        void *stack = map_stack(size);
        getcontext(&routine[i]);
        routine[i].uc_stack.ss_sp = stack;
        routine[i].uc_stack.ss_size = size;
        routine[i].uc_link = &scheduler;
        makecontext(&routine[i], (void (*)())routine_main, 1, i);
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) {
            resume(i);
            calls_elsewhere((char *)routine[0].uc_stack.ss_sp);
        }
    calls_elsewhere((char *)map_stack(256 << 10));
    frames_far_away();
    gives_up();
}

OWN void has_room_for_much(long n)
{
    volatile char room[1 << 20];
    for (long i = 0; i < 4; i++)
        room[i << 12] = (char)i;
    work(room[n]);
    if (n)
        has_room_for_much(n - 1);
    sink += room[0];
}

int main(int argc, char **)
{
    for (int i = 0; i < (argc > 1 ? 3 : 1); i++) { // often enough to become hot
        sink += fib(9) + is_even(21) + is_even(20);
        with_tail_calls(20);
        through_pointers();
        sort_some();
        odd_code();
        far_branch(3);
        jumps_out(5);
        catches(4);
        catches_and_throws();
        signals();
        has_room_for_much(3);
        hops(argc > 1 ? 3000 : 4);
        for (int k = 0; k < (argc > 1 ? 200 : 4); k++) {
            static char room[200];
            with_a_base(64 + 16 * k);
            copies(room);
        }
        if (i == 0)
            routines();
        jumps_out(30);
    }
    printf("done\n");
    return 0;
}
