/* SPDX-License-Identifier: MIT */
/* A program that is itself a small debugger: its child asks to be traced, stops at signals and at exec, lets its memory
 * be read and written, is let go with or without the signal, and ends as told. */
/* untraced: only one may trace a task */
#include "check.h"
#include <sys/ptrace.h>

static volatile long word = 11;
static volatile int arrived;

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

static int stopped_by(pid_t pid)
{
    int status;
    must(waitpid(pid, &status, 0) == pid, "wait");
    return WIFSTOPPED(status) ? WSTOPSIG(status) | (status >> 16 << 8) : -status;
}

static int traced(void)
{
    if (ptrace(PTRACE_TRACEME, 0, 0, 0))
        return 90;
    raise(SIGSTOP);
    if (word != 22)
        return 91;
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1); /* let through */
    if (arrived != 1)
        return 92;
    raise(SIGUSR1); /* kept back */
    if (arrived != 1)
        return 93;
    execl("/proc/self/exe", "traced", "child", (char *)NULL);
    return 94;
}

static void signals_and_exec(void)
{
    pid_t pid = fork_watched();
    if (!pid)
        _exit(traced());
    CHECK_IS(stopped_by(pid), SIGSTOP);
    CHECK_IS(ptrace(PTRACE_PEEKDATA, pid, &word, 0), 11);
    CHECK_IS(ptrace(PTRACE_POKEDATA, pid, &word, 22), 0);
    CHECK_IS(word, 11);
    CHECK_IS(ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACEEXEC), 0);
    CHECK_IS(ptrace(PTRACE_CONT, pid, 0, 0), 0);
    CHECK_IS(stopped_by(pid), SIGUSR1);
    CHECK_IS(ptrace(PTRACE_CONT, pid, 0, SIGUSR1), 0);
    CHECK_IS(stopped_by(pid), SIGUSR1);
    siginfo_t info;
    CHECK(!ptrace(PTRACE_GETSIGINFO, pid, 0, &info) && info.si_signo == SIGUSR1 &&
          info.si_pid == pid);
    CHECK_IS(ptrace(PTRACE_CONT, pid, 0, 0), 0);
    CHECK_IS(stopped_by(pid), SIGTRAP | PTRACE_EVENT_EXEC << 8);
    CHECK_IS(ptrace(PTRACE_CONT, pid, 0, 0), 0);
    CHECK_IS(stopped_by(pid), -(33 << 8));
}

/* From outside, without its help. */
static void seized(void)
{
    pid_t pid = fork_watched();
    if (!pid)
        for (;;)
            usleep(1000);
    int status;
    CHECK_IS(ptrace(PTRACE_SEIZE, pid, 0, 0), 0);
    CHECK_IS(ptrace(PTRACE_INTERRUPT, pid, 0, 0), 0);
    must(waitpid(pid, &status, 0) == pid, "wait");
    CHECK(WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP);
    CHECK_IS(ptrace(PTRACE_PEEKDATA, pid, &word, 0), 11);
    CHECK_IS(ptrace(PTRACE_DETACH, pid, 0, 0), 0);
    kill(pid, SIGTERM);
    CHECK_IS(status_of(pid), SIGTERM);
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return 33;
    watchdog(WATCHDOG_SECONDS);
    for (int i = 0; i < 3; i++) {
        signals_and_exec();
        seized();
    }
    return verdict();
}
