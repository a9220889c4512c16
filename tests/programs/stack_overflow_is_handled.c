/* SPDX-License-Identifier: MIT */
/* A recursion without end runs into the end of the stack; the handler on the alternate stack sees where, and the program
 * goes on; in the main thread and in others, in plain code and in handlers. */
#include "check.h"
#include <pthread.h>

enum { ROUNDS = 10, ALT_SIZE = 65536 };

static __thread uintptr_t deepest;
static __thread sigjmp_buf out;
static __thread long told_address, told_stack;

static void on_overflow(int sig, siginfo_t *info, void *context)
{
    const greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    told_address = (long)info->si_addr;
    told_stack = reg[REG_RSP];
    CHECK(is_own_text(reg[REG_RIP]));
    siglongjmp(out, 1);
}

__attribute__((noinline)) static int deeper(volatile char *from)
{
    volatile char room[300];
    room[0] = *from;
    deepest = (uintptr_t)room;
    return room[0] == 'x' ? 0 : deeper(room) + 1;
}

/* The address is within one frame of the stack pointer, and below all that was reached before. */
static void overflow(void)
{
    for (volatile int i = 0; i < ROUNDS; i++) {
        if (!sigsetjmp(out, 1)) {
            deeper(&(char){0});
            fail("the recursion ended\n");
        }
        CHECK(labs(told_address - told_stack) < 4 * PAGE);
        CHECK(told_address <= (long)deepest);
        CHECK((long)deepest - told_address < 4 * PAGE);
    }
}

static void use_alt(void)
{
    stack_t alt = {.ss_sp = map(ALT_SIZE, PROT_READ | PROT_WRITE), .ss_size = ALT_SIZE};
    sigaltstack(&alt, NULL);
}

static void *in_thread(void *arg)
{
    (void)arg;
    use_alt();
    overflow();
    return NULL;
}

static void overflow_in_handler(int sig)
{
    (void)sig;
    deeper(&(char){0});
}

/* Without an alternate stack there is nowhere to go. */
static int without_alt(void)
{
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    deeper(&(char){0});
    return 0;
}

int main(void)
{
    pthread_t thread[2];
    pthread_attr_t attr;
    watchdog(WATCHDOG_SECONDS);
    note_text();
    struct rlimit limit;
    getrlimit(RLIMIT_STACK, &limit);
    limit.rlim_cur = 512 * 1024;
    setrlimit(RLIMIT_STACK, &limit);
    handle(SIGSEGV, on_overflow, SA_ONSTACK);
    use_alt();
    overflow();
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 128 * 1024);
    for (int i = 0; i < 2; i++)
        must(!pthread_create(&thread[i], &attr, in_thread, NULL), "create a thread");
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    signal(SIGUSR1, overflow_in_handler);
    if (!sigsetjmp(out, 1))
        raise(SIGUSR1);
    CHECK(!is_blocked(SIGUSR1));
    CHECK(labs(told_address - told_stack) < 4 * PAGE);
    CHECK_IS(status_in_child(without_alt), SIGSEGV);
    return verdict();
}
