/* SPDX-License-Identifier: MIT */
/* Eight threads bombard a loop of read-modify-write instructions with signals: each instruction is executed exactly once
 * per turn, whatever operands it has. */
#include "check.h"
#include <pthread.h>

enum { SENDERS = 8, SIGNALS = 150, LEAST_TURNS = 20000 };

static volatile int senders_left = SENDERS;
static volatile long arrived;
static pthread_t main_thread;

/* What each kind of instruction has counted. */
enum { ADD, INC, XADD, R11_BASE, R11_INDEX, PUSH_POP, ADC, CMPXCHG, XCHG, R11_ITSELF, KINDS };
long counted[KINDS];
long one = 1, zero = 0, scratch;

long count(volatile int *until_zero, long least);
asm(".globl count\n"
    "count:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    lea counted(%rip), %r12\n"
    "    xor %ebx, %ebx\n"
    "    xor %r13d, %r13d\n"
    "1:  inc %rbx\n"
    "    addq $1, counted(%rip)\n"
    "    incq 8+counted(%rip)\n"
    "    mov $1, %eax\n"
    "    lock xaddq %rax, 16+counted(%rip)\n"
    "    mov %r12, %r11\n"
    "    addq $1, 24(%r11)\n"
    "    mov $4, %r11d\n"
    "    addq $1, (%r12,%r11,8)\n"
    "    pushq 40+counted(%rip)\n"
    "    addq $1, (%rsp)\n"
    "    popq 40+counted(%rip)\n"
    "    stc\n"
    "    adcq $0, 48+counted(%rip)\n"
    "    mov 56+counted(%rip), %rax\n"
    "    lea 1(%rax), %r11\n"
    "    cmpxchgq %r11, 56+counted(%rip)\n"
    "    mov 64+counted(%rip), %r11\n"
    "    inc %r11\n"
    "    xchg %r11, 64+counted(%rip)\n"
    "    mov %r13, %r11\n"
    "    add one(%rip), %r11\n"
    "    mov %r11, %r13\n"
    "    mov %r13, 72+counted(%rip)\n"
    "    cmp %rsi, %rbx\n"
    "    jb 1b\n"
    "    cmpl $0, (%rdi)\n"
    "    jne 1b\n"
    "    mov %rbx, %rax\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    ret\n");

/* Use r11 and memory, as handlers do. */
static void on_signal(int sig)
{
    (void)sig;
    asm volatile("mov $-1, %%r11\n\tadd %%r11, scratch(%%rip)" : : : "r11", "memory", "cc");
    __atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED); /* handlers interrupt one another */
}

static void *send(void *arg)
{
    for (int i = 0; i < SIGNALS; i++) {
        CHECK_IS(pthread_kill(main_thread, i % 2 ? SIGUSR1 : SIGRTMIN + (int)(long)arg), 0);
        usleep(20);
    }
    __sync_fetch_and_sub(&senders_left, 1);
    return NULL;
}

int main(void)
{
    pthread_t sender[SENDERS];
    struct sigaction act = {.sa_handler = on_signal};
    watchdog(WATCHDOG_SECONDS);
    main_thread = pthread_self();
    sigaction(SIGUSR1, &act, NULL);
    for (int i = 0; i < SENDERS; i++)
        sigaction(SIGRTMIN + i, &act, NULL);
    for (long i = 0; i < SENDERS; i++)
        must(!pthread_create(&sender[i], NULL, send, (void *)i), "create a thread");
    long turns = count(&senders_left, LEAST_TURNS);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(sender[i], NULL);
    for (int i = 0; i < KINDS; i++)
        if (counted[i] != turns)
            fail("instruction %d counted %ld in %ld turns\n", i, counted[i], turns);
    CHECK_IS(scratch, -arrived);
    /* Queued signals are never merged: half of all sent, and at least one of the others. */
    CHECK(arrived > SENDERS * SIGNALS / 2);
    return verdict();
}
