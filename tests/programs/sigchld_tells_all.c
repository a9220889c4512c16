/* SPDX-License-Identifier: MIT */
/* SIGCHLD and the wait calls tell of children that exit, are killed, stop and go on; SA_NOCLDSTOP and SA_NOCLDWAIT keep
 * quiet; nobody has children it did not make. */
#include "check.h"

static volatile int told, last_code, last_status;
static volatile pid_t last_pid;

static void on_child(int sig, siginfo_t *info, void *context)
{
    (void)context;
    CHECK_IS(sig, SIGCHLD);
    CHECK_IS(info->si_uid, getuid());
    last_code = info->si_code;
    last_status = info->si_status;
    last_pid = info->si_pid;
    told++;
}

static void await(int count)
{
    sigset_t open;
    sigemptyset(&open);
    while (told < count)
        sigsuspend(&open);
    CHECK_IS(told, count);
}

static pid_t sleeper(void)
{
    pid_t pid = fork_watched();
    if (!pid)
        for (;;)
            pause();
    return pid;
}

static void one_life(void)
{
    siginfo_t info;
    told = 0;
    pid_t pid = sleeper();
    kill(pid, SIGSTOP);
    await(1);
    CHECK(last_code == CLD_STOPPED && last_status == SIGSTOP && last_pid == pid);
    CHECK(!waitid(P_PID, pid, &info, WSTOPPED) && info.si_code == CLD_STOPPED);
    kill(pid, SIGCONT);
    await(2);
    CHECK(last_code == CLD_CONTINUED && last_pid == pid);
    CHECK(!waitid(P_ALL, 0, &info, WCONTINUED) && info.si_code == CLD_CONTINUED);
    kill(pid, SIGTERM);
    await(3);
    CHECK(last_code == CLD_KILLED && last_status == SIGTERM);
    CHECK(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT) && info.si_status == SIGTERM);
    CHECK_IS(status_of(pid), SIGTERM);
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void exits(void)
{
    for (int i = 0; i < 20; i++) {
        told = 0;
        pid_t pid = fork_watched();
        if (!pid)
            _exit(i);
        await(1);
        CHECK(last_code == CLD_EXITED && last_status == i && last_pid == pid);
        CHECK_IS(status_of(pid), i << 8);
    }
}

static void quiet(void)
{
    struct sigaction act = {.sa_sigaction = on_child, .sa_flags = SA_SIGINFO | SA_NOCLDSTOP};
    int status;
    sigaction(SIGCHLD, &act, NULL);
    told = 0;
    pid_t pid = sleeper();
    kill(pid, SIGSTOP);
    CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
    kill(pid, SIGCONT);
    CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
    CHECK_IS(told, 0);
    kill(pid, SIGKILL);
    await(1);
    CHECK_IS(status_of(pid), SIGKILL);

    act.sa_flags = SA_SIGINFO | SA_NOCLDWAIT;
    sigaction(SIGCHLD, &act, NULL);
    told = 0;
    pid = fork_watched();
    if (!pid)
        _exit(3);
    CHECK(waitpid(-1, &status, 0) == -1 && errno == ECHILD); /* returns when the child is gone */
    await(1);
    signal(SIGCHLD, SIG_IGN);
    pid = fork_watched();
    if (!pid)
        _exit(3);
    CHECK(waitpid(pid, &status, 0) == -1 && errno == ECHILD);
    CHECK_IS(told, 1);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    CHECK(waitpid(-1, NULL, __WALL) == -1 && errno == ECHILD);
    block(SIGCHLD);
    handle(SIGCHLD, on_child, 0);
    for (int i = 0; i < 5; i++)
        one_life();
    exits();
    quiet();
    return verdict();
}
