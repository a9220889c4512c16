/* SPDX-License-Identifier: MIT */
/* Values in all vector and mask registers, in the x87 stack and in both control words survive fresh code, branches of
 * every kind, system calls, page faults, signals and other threads that do the same; also when a thread uses them for
 * the first time late. */
#include "check.h"
#include "xstate.h"
#include <pthread.h>

enum { FRESH = 8, ROUNDS = 24 };

const uint32_t mxcsr_in = 0x9fc0, mxcsr_usual = 0x1f80;
const uint16_t control_in = 0x0f7f;
uint32_t mxcsr_out;
uint16_t control_out;
int x87_out[2];
volatile char *fresh_memory;

/* Load everything, go through the n-th piece of fresh code, store everything. */
void carry(long n, long pid, long tid, long sig);
asm(".globl carry\n"
    ".macro FRESH_CODE n\n" /* two hundred little blocks that nobody has run before */
    "fresh_\\n:\n"
    "    mov $3, %ecx\n"
    "1:  dec %ecx\n"
    "    jnz 1b\n"
    ".rept 200\n"
    "    lea 1(%rcx), %rcx\n"
    "    test $1, %cl\n"
    "    jz 2f\n"
    "    lea 2(%rcx), %rcx\n"
    "2:\n"
    ".endr\n"
    "    lea 3f(%rip), %rax\n"
    "    jmp *%rax\n"
    "3:  ret\n"
    ".endm\n"
    ".irp n, 0,1,2,3,4,5,6,7\n"
    "FRESH_CODE \\n\n"
    ".endr\n"
    "carry:\n"
    "    push %rbx\n"
    "    push %r12\n"
    "    push %r13\n"
    "    push %r14\n"
    "    mov %rdi, %rbx\n"
    "    mov %rsi, %r12\n"
    "    mov %rdx, %r13\n"
    "    mov %rcx, %r14\n"
    "    call load_vectors\n"
    "    fninit\n"
    "    fldcw control_in(%rip)\n"
    "    fldpi\n"
    "    fld1\n"
    "    ldmxcsr mxcsr_in(%rip)\n"
    "    lea 9f(%rip), %rax\n"
    "    movslq (%rax,%rbx,4), %rcx\n"
    "    add %rcx, %rax\n"
    "    call *%rax\n"
    "    mov $24, %eax\n" /* sched_yield */
    "    syscall\n"
    "    mov fresh_memory(%rip), %rax\n" /* a page that is not there yet */
    "    movb $1, (%rax)\n"
    "    test %r14, %r14\n"
    "    jz 4f\n"
    "    mov $234, %eax\n"
    "    mov %r12, %rdi\n"
    "    mov %r13, %rsi\n"
    "    mov %r14, %rdx\n"
    "    syscall\n"
    "4:  call store_vectors\n"
    "    stmxcsr mxcsr_out(%rip)\n"
    "    fnstcw control_out(%rip)\n"
    "    fistpl x87_out(%rip)\n"
    "    fistpl 4+x87_out(%rip)\n"
    "    fninit\n"
    "    ldmxcsr mxcsr_usual(%rip)\n"
    "    pop %r14\n"
    "    pop %r13\n"
    "    pop %r12\n"
    "    pop %rbx\n"
    "    ret\n"
    ".section .rodata\n"
    ".balign 4\n"
    "9:  .long fresh_0-9b, fresh_1-9b, fresh_2-9b, fresh_3-9b, fresh_4-9b, fresh_5-9b, fresh_6-9b, "
    "fresh_7-9b\n"
    ".text\n");

static struct vectors handlers_own;

static void on_signal(int sig)
{
    struct vectors keep = vectors_in;
    (void)sig;
    vectors_in = handlers_own;
    load_vectors();
    vectors_in = keep;
}

/* The shared variables are used by one thread at a time; the registers of all are full all the time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
    char *memory = map(ROUNDS * PAGE, PROT_READ | PROT_WRITE);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock);
        fresh_memory = memory + round * PAGE;
        fill_vectors(&vectors_in, round + 30 * (int)(long)arg);
        carry(round % FRESH, getpid(), gettid(), round % 3 ? 0 : SIGUSR1);
        compare_vectors(&vectors_out, &vectors_in, "afterwards");
        CHECK_IS(mxcsr_out, mxcsr_in);
        CHECK_IS(control_out, control_in);
        CHECK(x87_out[0] == 1 && x87_out[1] == 3);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[3];
    watchdog(WATCHDOG_SECONDS);
    learn_xstate();
    fill_vectors(&handlers_own, 120);
    signal(SIGUSR1, on_signal);
    work((void *)0);
    for (long i = 0; i < 3; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)(i + 1)), "create a thread");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    return verdict();
}
