/* SPDX-License-Identifier: MIT */
/* While threads run code, one maps, protects, unmaps and reloads other code without rest: nobody's registers, results or
 * place are disturbed. */
#include "check.h"
#include <dlfcn.h>
#include <pthread.h>

enum { RUNNERS = 3, ROUNDS = 80 };

static volatile bool done;
static volatile long turns[RUNNERS];

/* All registers carry a value around a loop with calls and branches; the number of wrong ones is returned. */
long carry(long turns, volatile long *count, long salt);
asm(".globl carry\n"
    "carry:\n"
    ".irp r, rbx,rbp,r12,r13,r14,r15\n"
    "    push %\\r\n"
    ".endr\n"
    "    push %rdx\n"
    "    xor %eax, %eax\n"
    "    lea 1(%rdx), %rbx\n"
    "    lea 2(%rdx), %rbp\n"
    "    lea 3(%rdx), %r8\n"
    "    lea 4(%rdx), %r9\n"
    "    lea 5(%rdx), %r10\n"
    "    lea 6(%rdx), %r11\n"
    "    lea 7(%rdx), %r12\n"
    "    lea 8(%rdx), %r13\n"
    "    lea 9(%rdx), %r14\n"
    "    lea 3f(%rip), %r15\n"
    "    movq %rdx, %xmm9\n"
    "1:  incq (%rsi)\n"
    "    call *%r15\n"
    "    mov (%rsp), %rdx\n"
    "at = 1\n"
    ".irp r, rbx,rbp,r8,r9,r10,r11,r12,r13,r14\n"
    "    lea at(%rdx), %rcx\n"
    "    cmp %rcx, %\\r\n"
    "    je 2f\n"
    "    inc %rax\n"
    "2:\n"
    "at = at + 1\n"
    ".endr\n"
    "    movq %xmm9, %rcx\n"
    "    cmp %rcx, %rdx\n"
    "    je 2f\n"
    "    inc %rax\n"
    "2:  dec %rdi\n"
    "    jnz 1b\n"
    "    pop %rdx\n"
    ".irp r, r15,r14,r13,r12,rbp,rbx\n"
    "    pop %\\r\n"
    ".endr\n"
    "    ret\n"
    "3:  push %r11\n"
    "    jmp 4f\n"
    "4:  pop %r11\n"
    "    ret\n");

static void *runner(void *arg)
{
    long id = (long)arg, wrong = 0;
    while (!done) {
        wrong += carry(2000, &turns[id], 0x1234567 * (id + 1));
        usleep(20);
    }
    return (void *)wrong;
}

static void disturb(int round)
{
    unsigned char *page = map(2 * PAGE, PROT_READ | PROT_WRITE);
    put_return(page, round);
    put_return(page + PAGE, -round);
    mprotect(page, 2 * PAGE, PROT_READ | PROT_EXEC);
    CHECK_IS(call_code(page), round);
    CHECK_IS(call_code(page + PAGE), -round);
    mprotect(page + PAGE, PAGE, PROT_READ);
    CHECK_IS(call_code(page), round);
    munmap(page, 2 * PAGE);
    if (round % 30 == 0) {
        void *library = dlopen("libresolv.so.2", RTLD_NOW);
        int (*length)(const char *) =
            library ? (int (*)(const char *))dlsym(library, "ns_samename") : NULL;
        CHECK(length != NULL);
        if (library)
            dlclose(library);
    }
}

int main(void)
{
    pthread_t thread[RUNNERS];
    void *wrong;
    watchdog(WATCHDOG_SECONDS);
    for (long i = 0; i < RUNNERS; i++)
        must(!pthread_create(&thread[i], NULL, runner, (void *)i), "create a thread");
    for (int i = 0; i < RUNNERS; i++)
        while (!turns[i])
            sched_yield();
    for (int round = 0; round < ROUNDS; round++)
        disturb(round);
    done = true;
    for (int i = 0; i < RUNNERS; i++) {
        pthread_join(thread[i], &wrong);
        CHECK_IS((long)wrong, 0);
    }
    return verdict();
}
