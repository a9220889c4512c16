/* SPDX-License-Identifier: MIT */
/* sigaction, sigprocmask and sigpending with bad, partial and odd arguments: the same errors, exactly the old action back,
 * and changes made or not made as the kernel does; SA_RESETHAND, ignoring what is pending, a handler without a way back. */
#include "check.h"

/* The kernel's own form. */
struct action {
    void *handler;
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};
enum { RESTORER = 0x04000000 };
#define BIT(sig) (1ul << ((sig)-1))

static long action(int sig, const void *act, void *old, size_t size)
{
    return syscall(SYS_rt_sigaction, sig, act, old, size) ? -errno : 0;
}

static long mask(int how, const void *set, void *old, size_t size)
{
    return syscall(SYS_rt_sigprocmask, how, set, old, size) ? -errno : 0;
}

static volatile int arrived;

static void count(int sig)
{
    (void)sig;
    arrived++;
}

static void look_at_own_action(int sig)
{
    struct action now;
    arrived++;
    CHECK_IS(action(sig, NULL, &now, 8), 0);
    CHECK_IS((long)now.handler, (long)SIG_DFL);
    CHECK(now.flags & (unsigned)SA_RESETHAND);
}

static void *own_restorer(void)
{
    struct action now;
    handle(SIGUSR2, (void (*)(int, siginfo_t *, void *))(void *)count, 0);
    CHECK_IS(action(SIGUSR2, NULL, &now, 8), 0);
    return now.restorer;
}

static void bad_arguments(void *restorer)
{
    struct action act = {count, RESTORER, restorer, 0}, now, before;
    CHECK_IS(action(SIGUSR1, NULL, &before, 8), 0);
    CHECK_IS(action(0, NULL, &now, 8), -EINVAL);
    CHECK_IS(action(65, NULL, &now, 8), -EINVAL);
    CHECK_IS(action(-1, &act, NULL, 8), -EINVAL);
    CHECK_IS(action(SIGKILL, &act, NULL, 8), -EINVAL);
    CHECK_IS(action(SIGSTOP, &act, NULL, 8), -EINVAL);
    CHECK_IS(action(SIGKILL, NULL, &now, 8), 0);
    CHECK_IS(action(SIGUSR1, &act, NULL, 4), -EINVAL);
    CHECK_IS(action(SIGUSR1, &act, NULL, 16), -EINVAL);
    CHECK_IS(action(SIGUSR1, (void *)8, NULL, 8), -EFAULT);
    CHECK_IS(action(SIGUSR1, (void *)-8, &now, 8), -EFAULT);
    CHECK_IS(action(SIGUSR1, NULL, (void *)8, 8), -EFAULT);
    CHECK_IS(action(SIGUSR1, NULL, NULL, 8), 0);
    CHECK_IS(action(SIGUSR1, NULL, &now, 8), 0);
    CHECK_IS(memcmp(&now, &before, sizeof now), 0);
    /* The new action is in force although the old one could not be told. */
    CHECK_IS(action(SIGUSR1, &act, (void *)8, 8), -EFAULT);
    CHECK_IS(action(SIGUSR1, NULL, &now, 8), 0);
    CHECK_IS((long)now.handler, (long)count);
    raise(SIGUSR1);
    CHECK_IS(arrived, 1);
}

/* Half an action in the last bytes of a page is a fault and changes nothing; a whole one is not. */
static void at_the_end_of_a_page(void *restorer)
{
    char *end = (char *)map(2 * PAGE, PROT_READ | PROT_WRITE) + PAGE;
    struct action act = {count, RESTORER, restorer, BIT(SIGHUP)}, now;
    munmap(end, PAGE);
    memcpy(end - sizeof act, &act, sizeof act);
    CHECK_IS(action(SIGUSR1, end - sizeof act, end - sizeof act, 8), 0);
    CHECK_IS(action(SIGUSR1, NULL, &now, 8), 0);
    CHECK_IS(memcmp(&now, &act, sizeof act), 0);
    memset(end - 24, 0, 24);
    CHECK_IS(action(SIGUSR1, end - 24, NULL, 8), -EFAULT);
    CHECK_IS(action(SIGUSR1, NULL, &now, 8), 0);
    CHECK_IS(memcmp(&now, &act, sizeof act), 0);
    CHECK_IS(action(SIGUSR1, NULL, end - 24, 8), -EFAULT);
}

static void told_exactly(void *restorer)
{
    static const unsigned long flags[] = {RESTORER, RESTORER | SA_RESTART | SA_SIGINFO,
                                          RESTORER | SA_NODEFER | SA_ONSTACK | SA_NOCLDSTOP,
                                          RESTORER | (unsigned)SA_RESETHAND | SA_NOCLDWAIT};
    for (int sig = 1; sig < 65; sig++) {
        struct action saved, act, now;
        if (sig == SIGKILL || sig == SIGSTOP)
            continue;
        CHECK_IS(action(sig, NULL, &saved, 8), 0);
        for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
            act = (struct action){count, flags[i], restorer, 0x5555555555555555ul << (i & 1)};
            CHECK_IS(action(sig, &act, &now, 8), 0);
            CHECK_IS(action(sig, NULL, &now, 8), 0);
            act.mask &= ~(BIT(SIGKILL) | BIT(SIGSTOP));
            CHECK_IS(memcmp(&now, &act, sizeof act), 0);
        }
        CHECK_IS(action(sig, &saved, &now, 8), 0);
        CHECK_IS(memcmp(&now, &act, sizeof act), 0);
    }
    /* Flags the kernel does not know are not kept. */
    struct action odd = {count, RESTORER | 0x400 | 0x8, restorer, 0}, now;
    CHECK_IS(action(SIGUSR1, &odd, NULL, 8), 0);
    CHECK_IS(action(SIGUSR1, NULL, &now, 8), 0);
    say("flags 0x%lx become 0x%lx\n", odd.flags, now.flags);
}

static bool is_pending(int sig)
{
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, sig) == 1;
}

static void ignoring_drops_what_is_pending(void)
{
    block(SIGUSR1);
    block(SIGCHLD);
    raise(SIGUSR1);
    CHECK(is_pending(SIGUSR1));
    signal(SIGUSR1, SIG_IGN);
    CHECK(!is_pending(SIGUSR1));
    signal(SIGCHLD, count);
    raise(SIGCHLD);
    CHECK(is_pending(SIGCHLD));
    signal(SIGCHLD, SIG_DFL);
    CHECK(!is_pending(SIGCHLD));
    signal(SIGUSR1, count);
    arrived = 0;
    unblock(SIGUSR1);
    unblock(SIGCHLD);
    CHECK_IS(arrived, 0);
    raise(SIGUSR1);
    CHECK_IS(arrived, 1);
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    CHECK_IS(arrived, 1);
}

static int dies_at_the_second(void)
{
    struct sigaction act = {.sa_handler = look_at_own_action,
                            .sa_flags = SA_RESETHAND | SA_NODEFER};
    arrived = 0;
    sigaction(SIGUSR1, &act, NULL);
    raise(SIGUSR1);
    if (arrived != 1 || check_failures)
        _exit(1);
    raise(SIGUSR1);
    return 0;
}

static int has_no_way_back(void)
{
    struct action act = {count, 0, NULL, 0};
    CHECK_IS(action(SIGUSR1, &act, NULL, 8), 0);
    raise(SIGUSR1);
    return 0;
}

static int returns_into_the_void(void)
{
    struct action act = {count, RESTORER, (void *)0x10, 0};
    CHECK_IS(action(SIGUSR1, &act, NULL, 8), 0);
    raise(SIGUSR1);
    return 0;
}

static int handler_is_nowhere(void)
{
    catch_faults(0);
    signal(SIGUSR1, (void (*)(int))0x1230);
    CATCH(raise(SIGUSR1));
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK_IS(fault.code, SEGV_MAPERR);
    CHECK_IS(fault.addr, 0x1230);
    CHECK_IS(fault.reg[REG_RIP], 0x1230);
    CHECK_IS(fault.reg[REG_RDI], SIGUSR1);
    CHECK(sigismember(&fault.mask, SIGUSR1));
    return check_failures ? 1 : 33;
}

static void masks(void)
{
    unsigned long all = ~0ul, none = 0, now = 0, some = BIT(SIGUSR1) | BIT(SIGSEGV) | BIT(34);
    CHECK_IS(mask(SIG_SETMASK, &all, &now, 8), 0);
    CHECK_IS(now, 0);
    CHECK_IS(mask(SIG_BLOCK, NULL, &now, 8), 0);
    CHECK_IS(now, (long)~(BIT(SIGKILL) | BIT(SIGSTOP)));
    CHECK_IS(mask(SIG_UNBLOCK, &some, &now, 8), 0);
    CHECK_IS(mask(99, NULL, &now, 8), 0); /* how is not looked at without a set */
    CHECK_IS(now, (long)~(BIT(SIGKILL) | BIT(SIGSTOP) | some));
    CHECK_IS(mask(99, &none, NULL, 8), -EINVAL);
    CHECK_IS(mask(SIG_SETMASK, &none, NULL, 4), -EINVAL);
    CHECK_IS(mask(SIG_SETMASK, (void *)8, NULL, 8), -EFAULT);
    CHECK_IS(mask(SIG_BLOCK, NULL, &now, 8), 0);
    CHECK_IS(now, (long)~(BIT(SIGKILL) | BIT(SIGSTOP) | some));
    /* The change is made although the old mask could not be told. */
    CHECK_IS(mask(SIG_SETMASK, &some, (void *)8, 8), -EFAULT);
    CHECK_IS(mask(SIG_BLOCK, NULL, &now, 8), 0);
    CHECK_IS(now, (long)some);
    CHECK_IS(mask(SIG_SETMASK, &none, NULL, 8), 0);
    /* sigpending gives at most eight bytes, and fewer on request. */
    uint32_t half[2] = {7, 7};
    CHECK_IS(syscall(SYS_rt_sigpending, half, 4), 0);
    CHECK_IS(half[0], 0);
    CHECK_IS(half[1], 7);
    CHECK(syscall(SYS_rt_sigpending, half, 16) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_rt_sigpending, 8, 8) == -1 && errno == EFAULT);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    void *restorer = own_restorer();
    masks();
    bad_arguments(restorer);
    at_the_end_of_a_page(restorer);
    told_exactly(restorer);
    ignoring_drops_what_is_pending();
    CHECK_IS(status_in_child(dies_at_the_second), SIGUSR1);
    CHECK_IS(status_in_child(has_no_way_back), SIGSEGV);
    CHECK_IS(status_in_child(returns_into_the_void), SIGSEGV);
    CHECK_IS(status_in_child(handler_is_nowhere), 33 << 8);
    return verdict();
}
