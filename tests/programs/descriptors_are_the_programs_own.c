/* SPDX-License-Identifier: MIT */
/* The program starts with the descriptors it is given and nobody takes others: the lowest free one is the next, all can
 * be closed at once, the limit can be set to nothing, and everything goes on. */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>

static int open_ones(void)
{
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void *idle(void *arg)
{
    return arg;
}

/* Work of several kinds, none of which may need a descriptor of its own. */
static void go_on(int round)
{
    pthread_t thread;
    char *page = map(PAGE, PROT_READ | PROT_WRITE);
    put_return(page, round);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    CHECK_IS(call_code(page), round);
    munmap(page, PAGE);
    must(!pthread_create(&thread, NULL, idle, NULL), "create a thread");
    pthread_join(thread, NULL);
    pid_t pid = fork_watched();
    if (!pid)
        _exit(open_ones());
    CHECK_IS(status_of(pid), open_ones() << 8);
}

int main(void)
{
    struct rlimit none = {0, 0};
    watchdog(WATCHDOG_SECONDS);
    say("%d descriptors at the start\n", open_ones()); /* those of whoever started it */
    CHECK(!syscall(SYS_close_range, 3, ~0u, 0));
    CHECK_IS(open_ones(), 3);
    CHECK_IS(dup(0), 3);
    CHECK_IS(dup(0), 4);
    CHECK_IS(dup2(0, 700), 700);
    go_on(1);
    CHECK_IS(open_ones(), 6);
    CHECK(!syscall(SYS_close_range, 3, ~0u, 0));
    CHECK_IS(open_ones(), 3);
    go_on(2);
    for (int fd = 3; fd < 1024; fd++)
        CHECK(close(fd) == -1 && errno == EBADF);
    go_on(3);
    getrlimit(RLIMIT_NOFILE, &none);
    none.rlim_cur = 3;
    CHECK(!setrlimit(RLIMIT_NOFILE, &none));
    CHECK(dup(0) == -1 && errno == EMFILE);
    go_on(4);
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
    go_on(5);
    return verdict();
}
