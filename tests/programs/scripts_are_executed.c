/* SPDX-License-Identifier: MIT */
/* Scripts run through their interpreters, with an argument, through another script, by the shell without a first line,
 * and by a relative name; too deep a nesting is refused. */
#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>

static char dir[] = "/tmp/scripts-XXXXXX";

static void write_script(const char *name, const char *text)
{
    char path[100];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0700);
    must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write a script");
    close(fd);
}

/* Run a script in its directory; its output goes to ours. */
static int run(const char *name, const char *argument)
{
    pid_t pid = fork_watched();
    if (!pid) {
        must(!chdir(dir), "change the directory");
        execl(name, name, argument, "second argument", (char *)NULL);
        _exit(errno == ENOEXEC ? 100 : errno == ELOOP ? 101 : 102);
    }
    return status_of(pid);
}

int main(void)
{
    char text[200];
    watchdog(WATCHDOG_SECONDS);
    must(mkdtemp(dir) != NULL, "make a directory");
    write_script("plain", "#!/bin/sh\necho plain $# \"$1\" \"$2\"\nexit 3\n");
    write_script("with-option", "#!/bin/sh -e\nfalse\necho not reached\n");
    write_script(
        "pipes",
        "#!/bin/sh\nfor i in 1 2 3; do echo $i; done | while read x; do echo \"<$x>\"; done\n"
        "trap 'echo trapped' USR1\nkill -USR1 $$\n(exit 5)\nexit $?\n");
    snprintf(text, sizeof text, "#!%s/plain an argument\n", dir);
    write_script("nested", text);
    write_script("no-first-line", "echo by the shell\n");
    write_script("circle", "#!./circle\n");
    CHECK_IS(run("./plain", "one"), 3 << 8);
    CHECK_IS(run("./with-option", "one"), 1 << 8);
    CHECK_IS(run("./pipes", "one"), 5 << 8);
    CHECK_IS(run("./nested", "one"), 3 << 8);
    CHECK_IS(run("./no-first-line", "one"), 100 << 8);
    CHECK_IS(run("./circle", "one"), 101 << 8);
    must(!chdir(dir), "change the directory");
    CHECK_IS(system("./no-first-line"), 0);
    CHECK_IS(system("rm -f plain with-option pipes nested no-first-line circle"), 0);
    must(!chdir("/") && !rmdir(dir), "clean up");
    return verdict();
}
