/* SPDX-License-Identifier: MIT */
/* A program becomes itself again and again, by path, by descriptor, from a copy in memory, through a script, with
 * growing arguments and environment; each link finds what the one before gave it, its own name, and a fresh process
 * otherwise.
 *
 *   [LINKS]     default 15 */
/* once: 100 */
#include "check.h"
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

extern char **environ;
static char script[] = "/tmp/chain-XXXXXX";

static void on_signal(int sig)
{
    (void)sig;
}

/* A memory file with a copy of this program. */
static int copy_of_self(void)
{
    struct stat st;
    int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), to = memfd_create("copy", MFD_CLOEXEC);
    off_t at = 0;
    must(from >= 0 && to >= 0 && !fstat(from, &st), "copy the program");
    while (at < st.st_size)
        must(sendfile(to, from, &at, st.st_size - at) > 0, "copy the program");
    close(from);
    return to;
}

/* Everything this link can check about how it came to be. */
static void check_link(int argc, char **argv, long link, pid_t first)
{
    char name[32] = "", value[32];
    struct sigaction now;
    CHECK_IS(getpid(), first);
    sigaction(SIGUSR1, NULL, &now);
    CHECK(now.sa_handler == SIG_DFL);
    CHECK_IS(prctl(PR_GET_NAME, name), 0);
    CHECK(strlen(name) > 0);
    CHECK(getauxval(AT_EXECFN) != 0);
    snprintf(value, sizeof value, "%ld", link);
    CHECK(getenv("LINK") && !strcmp(getenv("LINK"), value));
    /* The last arguments grow with the links. */
    int extra = 0;
    for (int i = 4; i < argc; i++)
        extra += !strcmp(argv[i], "extra");
    CHECK_IS(extra, link % 7);
    for (int fd = 3; fd < 30; fd++) /* those of this link were closed by exec */
        CHECK(fcntl(fd, F_GETFD) == -1);
}

static void next_link(const char *self, long link, long links, pid_t first)
{
    char texts[4][32], *argv[32] = {(char *)self, texts[0], texts[1], texts[2]};
    char *with_path = script;
    int n = 4;
    snprintf(texts[0], 32, "%ld", link + 1);
    snprintf(texts[1], 32, "%ld", links);
    snprintf(texts[2], 32, "%d", first);
    snprintf(texts[3], 32, "%ld", link + 1);
    for (int i = 0; i < (link + 1) % 7; i++)
        argv[n++] = "extra";
    argv[n] = NULL;
    setenv("LINK", texts[3], 1);
    signal(SIGUSR1, on_signal);
    open("/dev/null", O_RDONLY | O_CLOEXEC);
    int fd;
    switch (link % 5) {
    case 0:
        execve("/proc/self/exe", argv, environ);
        break;
    case 1:
        fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
        fexecve(fd, argv, environ);
        break;
    case 2:
        fd = copy_of_self();
        syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
        break;
    case 3:
        execv(getenv("ORIGINAL"), argv);
        break;
    default: /* the script takes the place of the name */
        with_path = getenv("SCRIPT");
        argv[0] = with_path;
        execv(with_path, argv);
    }
    must(false, "exec the next link");
}

/* A script whose interpreter is this program: it is called as PROGRAM SCRIPT LINK LINKS FIRST... */
static void make_script(const char *self)
{
    char line[400];
    int fd = mkstemp(script), n = snprintf(line, sizeof line, "#!%s\n", self);
    must(fd >= 0 && write(fd, line, n) == n && !fchmod(fd, 0700), "write a script");
    close(fd);
    setenv("SCRIPT", script, 1);
}

int main(int argc, char **argv)
{
    watchdog(WATCHDOG_SECONDS);
    if (argc > 3 && getenv("SCRIPT")) {
        bool through_script = !strcmp(argv[1], getenv("SCRIPT"));
        if (through_script)
            argv++, argc--;
        long link = atol(argv[1]), links = atol(argv[2]);
        pid_t first = atoi(argv[3]);
        CHECK_IS(through_script, link % 5 == 0);
        check_link(argc, argv, link, first);
        if (check_failures)
            return 1;
        if (link < links)
            next_link(argv[0], link, links, first);
        unlink(getenv("SCRIPT"));
        say("%ld links\n", link);
        return verdict();
    }
    char self[300] = "";
    must(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "find the program");
    if (strlen(self) > 120)
        return skip("the program's path is too long for a script's first line");
    for (int fd = 3; fd < 30; fd++)
        close(fd);
    setenv("ORIGINAL", self, 1);
    make_script(self);
    next_link(argv[0], 0, argc > 1 ? atol(argv[1]) : 15, getpid());
}
