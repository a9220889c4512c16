/* SPDX-License-Identifier: MIT */
/* A program without libc, thread pointer or initial anything: its first instructions are its own, the stack holds argc,
 * argv, environment and auxiliary values, all registers are 0, and it makes threads, signals and output by hand. */
/* build: -nostdlib -static -ffreestanding -fno-stack-protector -fno-builtin -DFREESTANDING */
#include <stdint.h>

enum {
    READ = 0,
    WRITE = 1,
    MMAP = 9,
    SIGACTION = 13,
    SIGRETURN = 15,
    GETPID = 39,
    CLONE = 56,
    EXIT = 60,
    KILL = 62
};
enum { ALARM = 37, ARCH_PRCTL = 158, FUTEX = 202, GETTID = 186, TGKILL = 234, EXIT_GROUP = 231 };

static long call(long nr, long a, long b, long c, long d, long e, long f)
{
    register long r10 asm("r10") = d, r8 asm("r8") = e, r9 asm("r9") = f;
    asm volatile("syscall"
                 : "+a"(nr)
                 : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return nr;
}

static int failures;

static long length(const char *s)
{
    long n = 0;
    while (s[n])
        n++;
    return n;
}

static void say(const char *s)
{
    call(WRITE, 1, (long)s, length(s), 0, 0, 0);
}

static void check(int holds, const char *what)
{
    if (holds)
        return;
    failures++;
    call(WRITE, 2, (long)what, length(what), 0, 0, 0);
    call(WRITE, 2, (long)" does not hold\n", 15, 0, 0, 0);
}

/* The kernel's struct sigaction. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};
void restore(void);
long start_thread(void *stack_top);
asm(".globl restore, _start, start_thread\n"
    "restore:\n"
    "    mov $15, %eax\n"
    "    syscall\n"
    "_start:\n"
    "    pushfq\n"
    "    popq first_flags(%rip)\n"
    "    or %rbx, %rax\n"
    "    or %rcx, %rax\n"
    "    or %rdx, %rax\n"
    "    or %rsi, %rax\n"
    "    or %rdi, %rax\n"
    "    or %rbp, %rax\n"
    "    or %r8, %rax\n"
    "    or %r9, %rax\n"
    "    or %r10, %rax\n"
    "    or %r11, %rax\n"
    "    or %r12, %rax\n"
    "    or %r13, %rax\n"
    "    or %r14, %rax\n"
    "    or %r15, %rax\n"
    "    mov %rax, first_registers(%rip)\n"
    "    stmxcsr first_mxcsr(%rip)\n"
    "    fnstcw first_control(%rip)\n"
    "    mov %rsp, %rdi\n"
    "    and $-16, %rsp\n"
    "    call main_by_hand\n"
    "    ud2\n"
    /* A thread with nothing but a stack: it counts, wakes the maker and ends. */
    "start_thread:\n"
    "    mov %rdi, %rsi\n"
    "    mov $0x10f00, %edi\n" /* VM, FS, FILES, SIGHAND, THREAD */
    "    xor %edx, %edx\n"
    "    xor %r10d, %r10d\n"
    "    xor %r8d, %r8d\n"
    "    mov $56, %eax\n"
    "    syscall\n"
    "    test %rax, %rax\n"
    "    jz 1f\n"
    "    ret\n"
    "1:  lock incl thread_counter(%rip)\n"
    "    lea thread_counter(%rip), %rdi\n"
    "    mov $1, %esi\n" /* wake */
    "    mov $1, %edx\n"
    "    mov $202, %eax\n"
    "    syscall\n"
    "    xor %edi, %edi\n"
    "    mov $60, %eax\n"
    "    syscall\n");
volatile int thread_counter;
long first_flags, first_registers = 1;
unsigned first_mxcsr;
unsigned short first_control;

static volatile int arrived;

static void on_signal(int sig)
{
    arrived += sig;
}

__attribute__((used)) void main_by_hand(long *stack)
{
    long argc = stack[0], base = -1;
    char **argv = (char **)(stack + 1), **env = argv + argc + 1;
    struct action act = {on_signal, 0x04000000, restore, 0};
    call(ALARM, 50, 0, 0, 0, 0, 0);
    check(argc == 1 && argv[0] && !argv[1], "one argument");
    check(first_registers == 0, "registers begin as 0");
    check((first_flags & ~0x10000l) == 0x202, "flags begin as 0x202");
    check(first_mxcsr == 0x1f80 && first_control == 0x37f, "floating point begins as usual");
    check(((long)stack & 15) == 0, "the stack is in line");
    while (*env)
        env++;
    long *aux = (long *)(env + 1), phdr = 0, entry = 0, page = 0;
    for (; aux[0]; aux += 2) {
        phdr = aux[0] == 3 ? aux[1] : phdr;
        entry = aux[0] == 9 ? aux[1] : entry;
        page = aux[0] == 6 ? aux[1] : page;
    }
    extern char _start[];
    check(entry == (long)_start && phdr && page == 4096, "auxiliary values");
    call(ARCH_PRCTL, 0x1003, (long)&base, 0, 0, 0, 0);
    check(base == 0, "no thread pointer");
    check(call(SIGACTION, 10, (long)&act, 0, 8, 0, 0) == 0, "sigaction");
    for (int i = 0; i < 10; i++)
        call(TGKILL, call(GETPID, 0, 0, 0, 0, 0, 0), call(GETTID, 0, 0, 0, 0, 0, 0), 10, 0, 0, 0);
    check(arrived == 100, "ten signals");
    for (int i = 0; i < 10; i++) {
        long stack_of_thread = call(MMAP, 0, 65536, 3, 0x22, -1, 0);
        check(start_thread((char *)stack_of_thread + 65536) > 0, "a thread starts");
        while (thread_counter <= i)
            call(FUTEX, (long)&thread_counter, 0, i, 0, 0, 0);
    }
    say(failures ? "something failed\n" : "all held\n");
    call(EXIT_GROUP, failures != 0, 0, 0, 0, 0, 0);
}
