/* SPDX-License-Identifier: MIT */
/* Coroutines on stacks of their own, switched by swapcontext, by a few instructions, and out of signal handlers, also
 * moved from one thread to another: each goes on where it was. */
#include "check.h"
#include <pthread.h>

enum { COROUTINES = 5, SWITCHES = 300, STACK = 65536 };

/* -- By the library -------------------------------------------------------------------------- */

static ucontext_t main_context, context[COROUTINES];
static long steps[COROUTINES];
static double sums[COROUTINES];

static void body(int id)
{
    double sum = 0;
    for (int i = 0; i < SWITCHES; i++) {
        sum += 1.0 / (id + 1);
        steps[id]++;
        swapcontext(&context[id], &context[(id + 1) % COROUTINES]);
    }
    sums[id] = sum;
    setcontext(id == COROUTINES - 1 ? &main_context : &context[id + 1]);
}

static void by_library(void)
{
    memset(steps, 0, sizeof steps);
    for (int i = 0; i < COROUTINES; i++) {
        getcontext(&context[i]);
        context[i].uc_stack.ss_sp = map(STACK, PROT_READ | PROT_WRITE);
        context[i].uc_stack.ss_size = STACK;
        context[i].uc_link = &main_context;
        makecontext(&context[i], (void (*)(void))body, 1, i);
    }
    swapcontext(&main_context, &context[0]);
    for (int i = 0; i < COROUTINES; i++) {
        CHECK_IS(steps[i], SWITCHES);
        CHECK((long)(sums[i] * (i + 1) + 0.5) == SWITCHES);
    }
}

/* -- By hand ----------------------------------------------------------------------------------- */

/* Save what a function keeps, exchange stacks; the return goes to the other side. */
void switch_stacks(void **save, void *to);
asm(".globl switch_stacks\n"
    "switch_stacks:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    mov %rsp, (%rdi)\n"
    "    mov %rsi, %rsp\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n");

static void *side_a, *side_b;
static volatile long pings, pongs;

static void other_side(void)
{
    for (;;) {
        pongs++;
        CHECK_IS(pongs, pings);
        switch_stacks(&side_b, side_a);
    }
}

static void prepare_other(void)
{
    void **top = (void **)((char *)map(STACK, PROT_READ | PROT_WRITE) + STACK - 64);
    *--top = NULL; /* where other_side would return to */
    *--top = (void *)(uintptr_t)other_side;
    side_b = top - 6;
}

static void *ping(void *arg)
{
    (void)arg;
    for (int i = 0; i < SWITCHES; i++) {
        pings++;
        switch_stacks(&side_a, side_b);
        CHECK_IS(pongs, pings);
    }
    return NULL;
}

/* The task is a loop that carries values in registers. */
extern const char task_begin[], task_end[];
void task_loop(volatile bool *until, volatile long *count);
asm(".globl task_loop, task_begin, task_end\n"
    "task_loop:\n"
    "    push %rbx\n"
    "    mov $0x77, %ebx\n"
    "    mov $0x78, %r11d\n"
    "task_begin:\n"
    "1:  lea (%rbx,%r11), %rax\n"
    "    sub $0xee, %rax\n"
    "    add %rax, (%rsi)\n"
    "    cmpb $0, (%rdi)\n"
    "    je 1b\n"
    "task_end:\n"
    "    pop %rbx\n"
    "    ret\n");

/* -- Out of a handler -------------------------------------------------------------------------- */

static ucontext_t interrupted, scheduler, task_context;
static volatile int preempted, misses;
static volatile bool task_ends, is_over;
static volatile long work_done;

/* Leave the task in the middle; elsewhere, in the middle of a switch, come back a little later. */
static void on_pulse(int sig, siginfo_t *info, void *context_of_signal)
{
    const greg_t *reg = ((ucontext_t *)context_of_signal)->uc_mcontext.gregs;
    uintptr_t stack = (uintptr_t)task_context.uc_stack.ss_sp;
    (void)sig, (void)info;
    CHECK(is_own_text(reg[REG_RIP]));
    if ((uintptr_t)reg[REG_RSP] < stack || (uintptr_t)reg[REG_RSP] >= stack + STACK ||
        reg[REG_RIP] < (long)task_begin || reg[REG_RIP] >= (long)task_end) {
        if (++misses > 2000) {
            fail("the task is never seen running\n");
            _exit(1);
        }
        pulse_in(20000);
        return;
    }
    preempted++;
    misses = 0;
    swapcontext(&interrupted, &scheduler);
}

static void start_task(void)
{
    task_loop(&task_ends, &work_done);
    is_over = true;
    setcontext(&scheduler);
}

static void by_preemption(void)
{
    handle(SIGALRM, on_pulse, 0);
    pulse_start(SIGALRM);
    getcontext(&task_context);
    task_context.uc_stack.ss_sp = map(STACK, PROT_READ | PROT_WRITE);
    task_context.uc_stack.ss_size = STACK;
    makecontext(&task_context, start_task, 0);
    for (int i = 0; i < 100; i++) {
        pulse_in(20000);
        swapcontext(&scheduler, i ? &interrupted : &task_context);
        CHECK_IS(preempted, i + 1);
        CHECK(!is_over);
    }
    task_ends = true;
    swapcontext(&scheduler, &interrupted);
    CHECK(is_over);
    CHECK(work_done > 0);
}

int main(void)
{
    pthread_t thread;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    for (int i = 0; i < 3; i++)
        by_library();
    prepare_other();
    ping(NULL);
    must(!pthread_create(&thread, NULL, ping, NULL),
         "create a thread"); /* the other side changes threads */
    pthread_join(thread, NULL);
    ping(NULL);
    CHECK_IS(pongs, 3 * SWITCHES);
    by_preemption();
    return verdict();
}
