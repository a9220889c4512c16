/* SPDX-License-Identifier: MIT */
/* It waits in a system call that ends with EINTR whenever a signal is handled, and says `round` each time. Without EINTR nothing is said. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static volatile int signals;

static void on_signal(int sig)
{
    (void)sig;
    signals++;
}

int main(int argc, char **argv)
{
    struct sigaction act = {.sa_handler = on_signal}; /* without SA_RESTART */
    int quiet[2], epoll = epoll_create1(0), seen = 0;
    char byte;
    (void)argc;
    setvbuf(stdout, NULL, _IONBF, 0);
    sigaction(SIGUSR1, &act, NULL);
    if (pipe(quiet))
        return 1;
    puts("ready");
    for (;;) {
        long r = strcmp(argv[1], "read") ? epoll_wait(epoll, &(struct epoll_event){0}, 1, -1) : read(quiet[0], &byte, 1);
        if (r != -1 || errno != EINTR)
            printf("%s came back with %ld, errno %d\n", argv[1], r, errno);
        if (signals == seen)
            puts("EINTR without a signal");
        seen = signals;
        puts("round");
    }
}
