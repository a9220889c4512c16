/* SPDX-License-Identifier: MIT */
/* A program makes a daemon by forking twice; its maker ends at once, it gets another parent and a session of its own,
 * becomes another program, and goes on until it is done. */
#include "check.h"
#include <fcntl.h>

static int report[2];

static void daemon_main(pid_t maker)
{
    char text[16], maker_text[16];
    must(setsid() == getpid(), "begin a session");
    while (getppid() == maker)
        usleep(100);
    snprintf(text, sizeof text, "%d", report[1]);
    snprintf(maker_text, sizeof maker_text, "%d", getpid());
    execl("/proc/self/exe", "daemon", text, maker_text, (char *)NULL);
    _exit(1);
}

/* The daemon as another program: one line for each thing it finds right. */
static int second(int fd, pid_t pid)
{
    watchdog(WATCHDOG_SECONDS);
    bool right = getpid() == pid && getsid(0) == pid && getpgrp() == pid;
    dprintf(fd, "%s\n", right ? "a daemon" : "something else");
    pid_t child = fork_watched();
    if (!child)
        _exit(9);
    dprintf(fd, "its child: %s\n", status_text(status_of(child)));
    return 0;
}

int main(int argc, char **argv)
{
    char text[200] = "";
    size_t n = 0;
    ssize_t got;
    if (argc > 2)
        return second(atoi(argv[1]), atoi(argv[2]));
    watchdog(WATCHDOG_SECONDS);
    for (int round = 0; round < 3; round++) {
        must(!pipe(report), "make a pipe");
        fcntl(report[0], F_SETFD, FD_CLOEXEC);
        pid_t maker = fork_watched();
        if (!maker) {
            pid_t self = getpid(), pid = fork_watched();
            if (!pid)
                daemon_main(self);
            _exit(17);
        }
        CHECK_IS(status_of(maker), 17 << 8);
        close(report[1]);
        n = 0;
        while ((got = read(report[0], text + n, sizeof text - 1 - n)) > 0)
            n += got;
        text[n] = 0;
        close(report[0]);
        CHECK(!strcmp(text, "a daemon\nits child: exit 9\n"));
    }
    say("%s", text);
    return verdict();
}
