/* SPDX-License-Identifier: MIT */
/* clone with CLONE_VM makes a process on the same memory; each ends for itself, in either order. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
/* not with leave: gait does not wait for tasks that were made natively, and they print */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int counter, go;
static char stack[4][65536] __attribute__((aligned(16)));

static int count(void *arg)
{
    for (int i = 0; i < 100000; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    syscall(SYS_exit_group, (long)arg);
    return 0;
}

static int outlive(void *arg)
{
    while (getppid() == (int)(long)arg)
        usleep(1000);
    static const char text[] = "the child outlived its parent\n";
    return write(1, text, sizeof text - 1) < 0;
}

int main(void)
{
    int sum = 0, status;
    pid_t pid[3];
    for (int i = 0; i < 3; i++)
        pid[i] =
            clone(count, stack[i] + sizeof stack[i], CLONE_VM | SIGCHLD, (void *)(long)(i + 1));
    for (int i = 0; i < 3; i++)
        if (waitpid(pid[i], &status, 0) == pid[i])
            sum += status >> 8;
    printf("%d counted, statuses sum to %d\n", counter, sum);
    fflush(stdout);
    clone(outlive, stack[3] + sizeof stack[3], CLONE_VM | SIGCHLD, (void *)(long)getpid());
    _exit(0);
}
