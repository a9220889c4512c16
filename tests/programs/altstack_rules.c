/* SPDX-License-Identifier: MIT */
/* The alternate signal stack is the program's own, per thread, with all its rules: not to be changed while in use,
 * disarmed on request, restored by returns and left by jumps, gone in new threads, kept over fork. */
#include "check.h"
#include <pthread.h>

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1U << 31)
#endif
enum { SIZE = 128 * 1024 };

static stack_t first, second;
static volatile int arrived, jumped;
static sigjmp_buf out;

static bool within(const stack_t *stack, const void *p)
{
    return (const char *)p >= (char *)stack->ss_sp &&
           (const char *)p < (char *)stack->ss_sp + stack->ss_size;
}

static stack_t told(void)
{
    stack_t now;
    CHECK(!sigaltstack(NULL, &now));
    return now;
}

static void use(const stack_t *stack)
{
    CHECK(!sigaltstack(stack, NULL));
}

/* On the stack it cannot be changed, even to itself, and is told as in use. */
static void on_busy(int sig, siginfo_t *info, void *context)
{
    stack_t now = told(), off = {.ss_flags = SS_DISABLE};
    (void)sig, (void)info;
    arrived++;
    CHECK(within(&first, &now));
    CHECK_IS(now.ss_flags, SS_ONSTACK);
    CHECK_IS(now.ss_sp, first.ss_sp);
    CHECK(sigaltstack(&second, NULL) == -1 && errno == EPERM);
    CHECK(sigaltstack(&off, NULL) == -1 && errno == EPERM);
    CHECK(sigaltstack(&first, NULL) == -1 && errno == EPERM);
    CHECK_IS(((ucontext_t *)context)->uc_stack.ss_sp, first.ss_sp);
}

/* Disarmed while the handler runs: a nested signal would start at the top again, so another stack may be set. */
static void on_disarmed(int sig, siginfo_t *info, void *context)
{
    stack_t now = told();
    (void)sig, (void)info;
    arrived++;
    CHECK(within(&first, &now));
    CHECK_IS(now.ss_flags, SS_DISABLE);
    CHECK(!sigaltstack(&second, NULL));
    CHECK_IS(told().ss_sp, second.ss_sp);
    CHECK_IS((unsigned)((ucontext_t *)context)->uc_stack.ss_flags, SS_AUTODISARM);
}

/* The way back sets the stack of the frame, if a handler not on it writes another there. */
static void on_changed(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info;
    arrived++;
    CHECK(!within(&first, &context));
    ((ucontext_t *)context)->uc_stack = second;
}

static void on_jump(int sig, siginfo_t *info, void *context)
{
    stack_t here;
    (void)sig, (void)info, (void)context;
    arrived++;
    CHECK(within(&first, &here));
    siglongjmp(out, 1);
}

static void *in_thread(void *arg)
{
    stack_t now = told(), own = {.ss_sp = map(SIZE, PROT_READ | PROT_WRITE), .ss_size = SIZE};
    (void)arg;
    CHECK_IS(now.ss_flags, SS_DISABLE);
    use(&own);
    CHECK_IS(told().ss_sp, own.ss_sp);
    return NULL;
}

static int in_child(void)
{
    stack_t now = told();
    return now.ss_sp == first.ss_sp && now.ss_flags == 0 && now.ss_size == SIZE ? 0 : 1;
}

int main(void)
{
    pthread_t thread;
    watchdog(WATCHDOG_SECONDS);
    first = (stack_t){.ss_sp = map(SIZE, PROT_READ | PROT_WRITE), .ss_size = SIZE};
    second = (stack_t){.ss_sp = map(SIZE, PROT_READ | PROT_WRITE), .ss_size = SIZE};
    stack_t wrong = first;
    wrong.ss_flags = 0x40;
    CHECK_IS(told().ss_flags, SS_DISABLE);
    CHECK(sigaltstack(&wrong, NULL) == -1 && errno == EINVAL);
    CHECK(sigaltstack((stack_t *)8, NULL) == -1 && errno == EFAULT);
    CHECK_IS(told().ss_flags, SS_DISABLE);
    /* A bad place for the old one is found after the new one is set. */
    CHECK(syscall(SYS_sigaltstack, &first, 8) == -1 && errno == EFAULT);
    CHECK_IS(told().ss_sp, first.ss_sp);

    for (int round = 0; round < 20; round++) {
        use(&first);
        handle(SIGUSR1, on_busy, SA_ONSTACK);
        raise(SIGUSR1);
        CHECK_IS(told().ss_flags, 0);

        stack_t disarm = first;
        disarm.ss_flags = SS_AUTODISARM;
        use(&disarm);
        CHECK_IS((unsigned)told().ss_flags, SS_AUTODISARM);
        handle(SIGUSR1, on_disarmed, SA_ONSTACK);
        raise(SIGUSR1);
        CHECK_IS(told().ss_sp, first.ss_sp);
        CHECK_IS((unsigned)told().ss_flags, SS_AUTODISARM);

        use(&first);
        handle(SIGUSR1, on_changed, 0);
        raise(SIGUSR1);
        CHECK_IS(told().ss_sp, second.ss_sp);

        use(&first);
        handle(SIGUSR1, on_jump, SA_ONSTACK);
        if (!sigsetjmp(out, 1))
            raise(SIGUSR1);
        else
            jumped++;
        CHECK_IS(told().ss_flags, 0);
    }
    must(!pthread_create(&thread, NULL, in_thread, NULL), "create a thread");
    pthread_join(thread, NULL);
    CHECK_IS(told().ss_sp, first.ss_sp);
    CHECK_IS(status_in_child(in_child), 0);
    say("%d signals, %d left by jumps\n", arrived, jumped);
    return verdict();
}
