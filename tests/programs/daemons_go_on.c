/* SPDX-License-Identifier: MIT */
/* A daemon forks twice, outlives those who made it, and is seen to its end: what it prints comes last. */
/* not with leave: gait does not wait for tasks that were made natively, and they print */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    int status, hold[2];
    char byte;
    if (pipe(hold))
        return 1;
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        if (fork())
            _exit(0);
        close(hold[1]);
        while (read(hold[0], &byte, 1) > 0) /* until all of the others have ended */
            ;
        execlp("sh", "sh", "-c", "echo the daemon ends", NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    printf("the first child ended with %d\n", status);
    return 0;
}
