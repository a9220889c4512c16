/* SPDX-License-Identifier: MIT */
/* The gs base is the program's own: set and read by calls and by instructions, used by every kind of operand, per
 * thread, kept over system calls, signals, switches, fork and execution of handlers; gs selectors can be loaded. */
#include "check.h"
#include <asm/prctl.h>
#include <pthread.h>
#include <sys/auxv.h>

static bool has_instructions;

static long call_get(void)
{
    long base = -1;
    CHECK_IS(syscall(SYS_arch_prctl, ARCH_GET_GS, &base), 0);
    return base;
}

static void call_set(const void *base)
{
    CHECK_IS(syscall(SYS_arch_prctl, ARCH_SET_GS, base), 0);
}

static long get(void)
{
    long base;
    if (!has_instructions)
        return call_get();
    asm volatile("rdgsbase %0" : "=r"(base));
    return base;
}

static void set(const void *base)
{
    if (!has_instructions)
        call_set(base);
    else
        asm volatile("wrgsbase %0" : : "r"(base) : "memory");
}

static long load(long offset)
{
    long value;
    asm volatile("mov %%gs:(%1), %0" : "=r"(value) : "r"(offset) : "memory");
    return value;
}

static __thread int helper_value; /* several threads are at it */

__attribute__((used)) static int called_through_gs(void)
{
    return ++helper_value;
}

/* Every kind of operand once; the block is 32 words long. */
static void operands(long *block, int salt)
{
    long a, b, c = 5, old = 0;
    int result;
    for (int i = 0; i < 32; i++)
        block[i] = 1000 * salt + i;
    asm volatile("mov %%gs:8, %0\n\tmov %%gs:16(%2), %1" : "=&r"(a), "=r"(b) : "r"(8l));
    CHECK(a == 1000 * salt + 1 && b == 1000 * salt + 3);
    asm volatile("mov $32, %%r11d\n\tmov %%gs:(%%r11), %%r11\n\tmov %%r11, %0" : "=r"(a) : : "r11");
    CHECK_IS(a, 1000 * salt + 4);
    asm volatile("addq $7, %%gs:40\n\tincl %%gs:48\n\tlock xaddq %0, %%gs:56"
                 : "+r"(c)
                 :
                 : "memory", "cc");
    CHECK(block[5] == 1000 * salt + 12 && block[6] == 1000 * salt + 7 && c == 1000 * salt + 7);
    CHECK_IS(block[7], 1000 * salt + 12);
    asm volatile("pushq %%gs:64\n\tpopq %%gs:72" : : : "memory");
    CHECK_IS(block[9], 1000 * salt + 8);
    asm volatile("xchg %0, %%gs:80" : "+r"(old) : : "memory");
    CHECK(old == 1000 * salt + 10 && block[10] == 0);
    asm volatile("movups %%gs:96, %%xmm1\n\tmovups %%xmm1, %%gs:112" : : : "xmm1", "memory");
    CHECK(block[14] == 1000 * salt + 12 && block[15] == 1000 * salt + 13);
    block[16] = (long)called_through_gs;
    helper_value = salt;
    asm volatile("sub $128, %%rsp\n\tcall *%%gs:128\n\tadd $128, %%rsp"
                 : "=a"(result)
                 :
                 : "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
    CHECK_IS(result, salt + 1);
    asm volatile("mov $144, %%esi\n\tmov %0, %%rdi\n\tmovsq %%gs:(%%rsi), (%%rdi)"
                 :
                 : "r"(&block[19])
                 : "rsi", "rdi", "memory");
    CHECK_IS(block[19], 1000 * salt + 18);
    asm volatile(".byte 0x65\n\tlea 160, %0" : "=r"(a)); /* lea has no segment */
    CHECK_IS(a, 160);
    asm volatile("cmpxchg16b %%gs:160"
                 : "=a"(a), "=d"(b)
                 : "a"(block[20]), "d"(block[21]), "b"(1l), "c"(2l)
                 : "memory", "cc");
    CHECK(block[20] == 1 && block[21] == 2);
    asm volatile("movq %%gs:(,%1,8), %0" : "=r"(a) : "r"(22l));
    CHECK_IS(a, 1000 * salt + 22);
    asm volatile("movl %%gs:(%k1), %k0" : "=r"(a) : "r"(184l)); /* 32-bit address */
    CHECK_IS(a, 1000 * salt + 23);
}

static long handler_block[32];
static volatile int arrived;

/* Signal frames do not hold the base: what a handler sets stays. */
static void on_signal(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info, (void)context;
    arrived++;
    CHECK_IS(load(0), 4242);
    if (arrived % 2)
        set(handler_block);
}

static void *in_thread(void *arg)
{
    long block[32];
    int salt = (int)(long)arg;
    CHECK_IS(get(), 0); /* as its maker had it */
    set(block);
    for (int i = 0; i < 100; i++) {
        operands(block, salt);
        sched_yield();
        CHECK_IS(get(), (long)block);
    }
    return NULL;
}

static long child_block[32];

static int in_child(void)
{
    CHECK_IS(get(), (long)child_block);
    CHECK_IS(load(8), 77);
    return check_failures ? 1 : 0;
}

extern const char gs_fault_at[];
long gs_fault(long offset);
asm(".globl gs_fault, gs_fault_at\n"
    "gs_fault:\n"
    "    mov %rdi, %r11\n"
    "gs_fault_at:\n"
    "    mov %gs:16(%r11), %r11\n"
    "    ret\n");

int main(void)
{
    long block[32] = {0};
    pthread_t thread[3];
    watchdog(WATCHDOG_SECONDS);
    has_instructions = getauxval(AT_HWCAP2) & 2;
    CHECK_IS(call_get(), 0);
    for (int turn = 0; turn < 20; turn++) {
        call_set(block);
        CHECK_IS(get(), (long)block);
        operands(block, turn + 1);
        set(block + 1);
        CHECK_IS(call_get(), (long)(block + 1));
        CHECK_IS(load(0), block[1]);
        CHECK_IS(load(-8), block[0]);
        set(block);
        usleep(10);
        CHECK_IS(get(), (long)block);
    }
    CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, 0x8000000000000000) == -1 && errno == EPERM);
    CHECK_IS(get(), (long)block);

    handle(SIGUSR1, on_signal, 0);
    block[0] = handler_block[0] = 4242;
    for (int i = 0; i < 10; i++) {
        set(block);
        raise(SIGUSR1);
        CHECK_IS(get(), (long)(i % 2 ? block : handler_block));
    }

    catch_faults(0);
    char *page = map(PAGE, PROT_NONE);
    set(page);
    for (int i = 0; i < 10; i++) {
        CATCH(gs_fault(100));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.addr, page + 116);
        CHECK_IS(fault.reg[REG_RIP], (long)gs_fault_at);
        CHECK_IS(fault.reg[REG_R11], 100);
    }

    set(NULL);
    for (long i = 0; i < 3; i++)
        must(!pthread_create(&thread[i], NULL, in_thread, (void *)(i + 50)), "create a thread");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    child_block[1] = 77;
    set(child_block);
    CHECK_IS(status_in_child(in_child), 0);

    /* A selector: the null one makes the base nothing or leaves it, by processor; the data one is base 0. */
    set(block);
    asm volatile("mov %0, %%gs" : : "r"(0x2b) : "memory");
    CHECK_IS(load((long)block), 4242);
    CHECK_IS(call_get(), 0);
    asm volatile("mov %0, %%gs" : : "r"(0) : "memory");
    call_set(block);
    CHECK_IS(load(0), 4242);
    return verdict();
}
