/* SPDX-License-Identifier: MIT */
/* posix_spawn gives the child's errno to its caller, applies file actions and finds programs in PATH. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int spawn(const char *file, char *const argv[], posix_spawn_file_actions_t *fa)
{
    pid_t pid;
    int status, error = posix_spawnp(&pid, file, fa, NULL, argv, environ);
    if (error)
        return -error;
    return waitpid(pid, &status, 0) == pid ? status >> 8 : -1000;
}

int main(void)
{
    char *const none[] = {"none", NULL}, *const sh[] = {"sh", "-c", "echo in a file; exit 5", NULL};
    posix_spawn_file_actions_t fa;
    char text[64] = "";
    char name[] = "/tmp/gait-spawn-XXXXXX";
    int fd = mkstemp(name);
    printf("%s\n", strerror(-spawn("no-such-program-anywhere", none, NULL)));
    printf("%s\n", strerror(-spawn("/etc", none, NULL)));
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 1, name, O_WRONLY, 0);
    printf("%d\n", spawn("sh", sh, &fa));
    posix_spawn_file_actions_destroy(&fa);
    if (read(fd, text, sizeof text - 1) < 0)
        return 1;
    fputs(text, stdout);
    unlink(name);
    return 0;
}
