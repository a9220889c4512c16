/* SPDX-License-Identifier: MIT */
/* posix_spawn says what went wrong in the child, and afterwards the parent is as before: its handlers, mask and memory;
 * file actions and attributes do their work; many threads spawn at once. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>

extern char **environ;
static volatile int arrived;

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

static void parent_is_whole(void)
{
    struct sigaction now;
    int before = arrived;
    sigaction(SIGUSR1, NULL, &now);
    CHECK(now.sa_handler == on_signal);
    sigaction(SIGUSR2, NULL, &now);
    CHECK(now.sa_handler == SIG_IGN);
    raise(SIGUSR1);
    CHECK_IS(arrived, before + 1);
    CHECK(is_blocked(SIGHUP) && !is_blocked(SIGUSR1));
}

static int spawn(const char *path, const char *mode, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attr)
{
    char *argv[] = {(char *)path, (char *)mode, NULL};
    pid_t pid = -1;
    int error = posix_spawn(&pid, path, actions, attr, argv, environ);
    if (error)
        return -error;
    return status_of(pid);
}

static void errors(void)
{
    char directory[] = "/tmp/spawn-XXXXXX", file[64];
    CHECK_IS(spawn("/no/such/program", NULL, NULL, NULL), -ENOENT);
    parent_is_whole();
    CHECK_IS(spawn("/etc", NULL, NULL, NULL), -EACCES);
    CHECK_IS(spawn("/etc/passwd/x", NULL, NULL, NULL), -ENOTDIR);
    must(mkdtemp(directory) != NULL, "make a directory");
    snprintf(file, sizeof file, "%s/text", directory);
    int fd = open(file, O_CREAT | O_WRONLY, 0700);
    must(write(fd, "no program\n", 11) == 11, "write");
    close(fd);
    CHECK_IS(spawn(file, NULL, NULL, NULL), -ENOEXEC);
    chmod(file, 0600);
    CHECK_IS(spawn(file, NULL, NULL, NULL), -EACCES);
    unlink(file);
    rmdir(directory);
    parent_is_whole();
    /* A file action that fails. */
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 5, "/no/such/file", O_RDONLY, 0);
    CHECK_IS(spawn("/proc/self/exe", "exit", &actions, NULL), -ENOENT);
    posix_spawn_file_actions_destroy(&actions);
    /* Looked up in the PATH, nowhere. */
    char *argv[] = {"no-such-program-at-all", NULL};
    pid_t pid;
    CHECK_IS(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), ENOENT);
    parent_is_whole();
    CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

static void successes(void)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t set;
    int fds[2];
    char text[32] = "";
    CHECK_IS(spawn("/proc/self/exe", "exit", NULL, NULL), 7 << 8);
    CHECK_IS(spawn("/proc/self/exe", "die", NULL, NULL), SIGTERM);
    CHECK_IS(spawn("/proc/self/exe", "mask", NULL, NULL),
             1 << 8); /* SIGHUP is blocked, USR2 ignored, as here */
    posix_spawnattr_init(&attr);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attr, &set);
    sigaddset(&set, SIGUSR2);
    posix_spawnattr_setsigdefault(&attr, &set);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    CHECK_IS(spawn("/proc/self/exe", "mask", NULL, &attr), 0);
    must(!pipe(fds), "make a pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_addclose(&actions, fds[0]);
    CHECK_IS(spawn("/proc/self/exe", "talk", &actions, NULL), 0);
    CHECK_IS(read(fds[0], text, sizeof text), 6);
    CHECK(!strcmp(text, "hello\n"));
    close(fds[0]);
    close(fds[1]);
    parent_is_whole();
}

static void *in_thread(void *arg)
{
    (void)arg;
    for (int i = 0; i < 8; i++) {
        CHECK_IS(spawn("/no/such/program", NULL, NULL, NULL), -ENOENT);
        if (i % 4 == 0)
            CHECK_IS(spawn("/proc/self/exe", "exit", NULL, NULL), 7 << 8);
    }
    return NULL;
}

static void others(void)
{
    FILE *f = popen("echo through a shell", "r");
    char line[64] = "";
    CHECK(f && fgets(line, sizeof line, f) && !strcmp(line, "through a shell\n"));
    CHECK_IS(pclose(f), 0);
    CHECK_IS(system("exit 3"), 3 << 8);
    CHECK_IS(system("kill -TERM $$"), SIGTERM);
}

/* What the spawned one does. */
static int child(const char *mode)
{
    struct sigaction now;
    if (!strcmp(mode, "exit"))
        return 7;
    if (!strcmp(mode, "die"))
        return raise(SIGTERM);
    if (!strcmp(mode, "talk"))
        return write(1, "hello\n", 6) == 6 ? 0 : 1;
    sigaction(SIGUSR1, NULL, &now);
    if (now.sa_handler != SIG_DFL)
        return 9;
    sigaction(SIGUSR2, NULL, &now);
    return (now.sa_handler == SIG_IGN) == is_blocked(SIGHUP) ? is_blocked(SIGHUP) : 8;
}

int main(int argc, char **argv)
{
    pthread_t thread[3];
    if (argc > 1)
        return child(argv[1]);
    watchdog(WATCHDOG_SECONDS);
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, SIG_IGN);
    block(SIGHUP);
    for (int i = 0; i < 3; i++) {
        errors();
        successes();
    }
    for (int i = 0; i < 3; i++)
        must(!pthread_create(&thread[i], NULL, in_thread, NULL), "create a thread");
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    others();
    parent_is_whole();
    return verdict();
}
