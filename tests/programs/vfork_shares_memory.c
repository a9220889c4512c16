/* SPDX-License-Identifier: MIT */
/* A child of vfork writes its parent's memory, ends or becomes another image, and the parent goes on. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int counter;

static int status_of(pid_t pid)
{
    int status;
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int plain(int code)
{
    pid_t pid = vfork();
    if (pid == 0) {
        counter++;
        _exit(code);
    }
    return status_of(pid);
}

static int failing(void)
{
    volatile int error = 0;
    char *const argv[] = {"x", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/no/such/file", argv);
        execv("/", argv);
        error = errno;
        _exit(3);
    }
    int status = status_of(pid);
    return status >> 8 == 3 ? error : -1;
}

static int working(void)
{
    char *const argv[] = {"sh", "-c", "exit 9", NULL};
    pid_t pid = vfork();
    if (pid == 0) {
        execv("/bin/sh", argv);
        _exit(1);
    }
    return status_of(pid);
}

static int killed(void)
{
    pid_t pid = vfork();
    if (pid == 0) {
        counter++;
        kill(getpid(), SIGKILL);
    }
    return status_of(pid);
}

/* vfork within vfork. */
static int fib(int n)
{
    volatile int a = 0, b = 0;
    if (n < 2)
        return 1;
    if (vfork() == 0) {
        a = fib(n - 1);
        b = fib(n - 2);
        _exit(0);
    }
    while (wait(NULL) > 0)
        ;
    return a + b;
}

int main(void)
{
    for (int i = 0; i < 600; i++)
        if (plain(i & 127) != (i & 127) << 8)
            return 1;
    printf("%d children wrote here\n", counter);
    int error = failing();
    printf("exec fails with %s\n", strerror(error));
    printf("exec gives %x\n", working());
    int status = killed();
    printf("killed by %d, counter %d\n", status & 127, counter);
    printf("fib %d\n", fib(6));
    return 0;
}
