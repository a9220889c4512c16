/* SPDX-License-Identifier: MIT */
/* A child killed at any moment of its execve, even between the new image and its first instruction, was not left
 * untraced: it has nothing to trace. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int wrong = 0;
    for (int i = 0; i < 150; i++) {
        int alive[2], status = 0;
        char byte;
        if (pipe2(alive, O_CLOEXEC))
            return 1;
        pid_t child = fork();
        if (!child) {
            execl("/bin/sleep", "sleep", "60", (char *)NULL);
            _exit(1);
        }
        close(alive[1]);
        wrong += read(alive[0], &byte, 1) != 0; /* the execve has happened, for it closed this pipe */
        close(alive[0]);
        usleep((unsigned)i * 37 % 3000);
        kill(child, SIGKILL);
        wrong += waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL;
    }
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
