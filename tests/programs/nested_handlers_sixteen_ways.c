/* SPDX-License-Identifier: MIT */
/* Handlers that raise signals themselves, with every combination of: the other signal blocked or not, the own one deferred
 * or not, on the alternate stack or not, with siginfo or without. Order, masks and stacks are as they must be. */
#include "check.h"

static char *alt;
enum { ALT_SIZE = 256 * 1024 };
static char order[200];
static volatile int raises_left, length;
static volatile bool with_other_blocked, with_nodefer, with_alt;

static void note(char c)
{
    order[length++] = c;
}

static bool on_alt(const void *p)
{
    return (const char *)p >= alt && (const char *)p < alt + ALT_SIZE;
}

static void check_masks(int sig, const ucontext_t *uc)
{
    CHECK_IS(on_alt(&sig), with_alt);
    if (sig == SIGUSR1) {
        CHECK_IS(is_blocked(SIGUSR1), !with_nodefer);
        CHECK_IS(is_blocked(SIGUSR2),
                 with_other_blocked || (uc && sigismember(&uc->uc_sigmask, SIGUSR2)));
    } else {
        CHECK(is_blocked(SIGUSR2));
    }
}

static void react(int sig, const siginfo_t *info, const ucontext_t *uc)
{
    note('(');
    note(sig == SIGUSR1 ? '1' : '2');
    if (info) {
        CHECK_IS(info->si_signo, sig);
        CHECK_IS(info->si_pid, getpid());
        CHECK(is_own_text(uc->uc_mcontext.gregs[REG_RIP]));
    }
    check_masks(sig, uc);
    if (sig == SIGUSR1 && raises_left > 0) {
        raises_left--;
        raise(SIGUSR2);
        note('.');
        raise(SIGUSR1);
    }
    note(')');
}

static void plain(int sig)
{
    react(sig, NULL, NULL);
}

static void with_info(int sig, siginfo_t *info, void *context)
{
    react(sig, info, context);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    alt = map(ALT_SIZE, PROT_READ | PROT_WRITE);
    stack_t stack = {.ss_sp = alt, .ss_size = ALT_SIZE};
    must(!sigaltstack(&stack, NULL), "set the signal stack");
    for (int way = 0; way < 16; way++) {
        bool siginfo = way & 8;
        struct sigaction act = {0};
        with_other_blocked = way & 1;
        with_nodefer = way & 2;
        with_alt = way & 4;
        act.sa_flags = (siginfo ? SA_SIGINFO : 0) | (with_alt ? SA_ONSTACK : 0);
        if (siginfo)
            act.sa_sigaction = with_info;
        else
            act.sa_handler = plain;
        sigaction(SIGUSR2, &act, NULL);
        if (with_other_blocked)
            sigaddset(&act.sa_mask, SIGUSR2);
        act.sa_flags |= with_nodefer ? SA_NODEFER : 0;
        sigaction(SIGUSR1, &act, NULL);
        length = 0;
        raises_left = 3;
        raise(SIGUSR1);
        order[length] = 0;
        CHECK(!is_blocked(SIGUSR1) && !is_blocked(SIGUSR2));
        say("%2d %s\n", way, order);
    }
    return verdict();
}
