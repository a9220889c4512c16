/* SPDX-License-Identifier: MIT */
/* Children that come and go without end, by fork and by vfork, and check that their signals are handled as they say. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile int handled;

static void on_signal(int sig)
{
    (void)sig;
    handled++;
}

static int child(void)
{
    struct sigaction act;
    struct timespec nap = {0, 2000000};
    for (int i = 1; i <= 40; i++) {
        if (sigaction(SIGUSR1, NULL, &act) || act.sa_handler != on_signal)
            return 2;
        raise(SIGUSR1);
        if (handled != i)
            return 3;
        if (nanosleep(&nap, NULL))
            return 4;
    }
    return 0;
}

int main(void)
{
    struct sigaction act = {.sa_handler = on_signal};
    setvbuf(stdout, NULL, _IONBF, 0);
    sigaction(SIGUSR1, &act, NULL);
    puts("ready");
    for (int n = 0;; n++) {
        int status;
        pid_t a = fork(), b;
        if (a == 0)
            _exit(child());
        if (posix_spawn(&b, "/bin/true", NULL, NULL, (char *[]){"true", NULL}, environ))
            puts("spawn failed");
        else if (waitpid(b, &status, 0) != b || status)
            printf("the spawned child ended with %x\n", status);
        if (waitpid(a, &status, 0) != a || status)
            printf("the child ended with %x\n", status);
        puts("round");
    }
}
