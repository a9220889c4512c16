/* SPDX-License-Identifier: MIT */
/* A set-user-id program started by this one gets the identity of its owner, as if nobody were looking. */
/* untraced: set-user-id programs run natively */
#include "check.h"
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

enum { OWNER = 65534 };
static char path[] = "/var/tmp/setuid-XXXXXX";

static void make_copy(void)
{
    struct stat st;
    int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
    off_t at = 0;
    must(from >= 0 && to >= 0 && !fstat(from, &st), "copy the program");
    while (at < st.st_size)
        must(sendfile(to, from, &at, st.st_size - at) > 0, "copy the program");
    must(!fchown(to, OWNER, OWNER) && !fchmod(to, 04755), "give the program away");
    close(from);
    close(to);
}

static int become_owner(void)
{
    execl(path, "rights", "child", (char *)NULL);
    return 99;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return geteuid() == OWNER && getuid() == 0 && getauxval(AT_SECURE) == 1 ? 23
               : geteuid() == 0                                                 ? 24
                                                                                : 25;
    watchdog(WATCHDOG_SECONDS);
    if (getuid() != 0)
        return skip("only root can give a file away");
    make_copy();
    int status = status_in_child(become_owner);
    unlink(path);
    if (status == 24 << 8)
        return skip("no set-user-id programs on this file system");
    CHECK_IS(status, 23 << 8);
    return verdict();
}
