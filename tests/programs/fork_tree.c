/* SPDX-License-Identifier: MIT */
/* A tree of processes by fork: each has its own memory, and its parent gets its status. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int depth;

static int grow(int n)
{
    int sum = 1;
    for (int i = 0; i < 2 && n; i++) {
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            depth++;
            _exit(grow(n - 1) + (depth != 4 - n + 1) * 100);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
            return 200;
        sum += WEXITSTATUS(status);
    }
    return sum;
}

int main(void)
{
    int n = grow(4);
    printf("%d processes, depth here %d\n", n, depth);
    return n != 31;
}
