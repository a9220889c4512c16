/* SPDX-License-Identifier: MIT */
/* exec that fails, for every reason, from a program with threads, handlers and open files, leaves all of them; and exec
 * with no arguments, no environment, or as much as fits, succeeds. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

extern char **environ;
static volatile long turns;
static volatile bool done;
static volatile int arrived;
static int kept_fd, closing_fd;

static void *work(void *arg)
{
    while (!done) {
        turns++;
        usleep(100);
    }
    return arg;
}

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

static void all_is_there(void)
{
    long before = turns;
    stack_t stack;
    arrived = 0;
    raise(SIGUSR1);
    CHECK_IS(arrived, 1);
    CHECK(!sigaltstack(NULL, &stack) && stack.ss_size == 65536);
    CHECK_IS(fcntl(closing_fd, F_GETFD), FD_CLOEXEC);
    CHECK_IS(fcntl(kept_fd, F_GETFD), 0);
    while (turns < before + 2)
        sched_yield();
}

static void fails(const char *path, char *const *argv, char *const *env, int error)
{
    CHECK_IS(execve(path, argv, env), -1);
    if (errno != error)
        fail("exec of %s: error %d, not %d\n", path ? path : "nothing", errno, error);
}

static void all_failures(const char *dir)
{
    char path[200], *const argv[] = {"x", NULL};
    static char *many[40000], long_name[5000], *huge[3], *big;
    snprintf(path, sizeof path, "%s/file", dir);
    fails("/no/such/program", argv, environ, ENOENT);
    fails("", argv, environ, ENOENT);
    fails("/etc/passwd/no", argv, environ, ENOTDIR);
    fails("/tmp", argv, environ, EACCES);
    memset(long_name, 'a', sizeof long_name - 1);
    fails(long_name, argv, environ, ENAMETOOLONG);
    fails((char *)8, argv, environ, EFAULT);
    fails("/bin/true", (char **)8, environ, EFAULT);
    fails("/bin/true", argv, (char **)8, EFAULT);
    fails("/bin/true", (char *[]){(char *)8, NULL}, environ, EFAULT);
    int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0700);
    must(fd >= 0, "make a file");
    fails(path, argv, environ, ETXTBSY); /* open for writing */
    close(fd);
    fails(path, argv, environ, ENOEXEC); /* empty */
    must(!chmod(path, 0600), "change a mode");
    fails(path, argv, environ, EACCES);
    chmod(path, 0700);
    fd = open(path, O_WRONLY | O_TRUNC);
    must(write(fd, "#!/no/such/interpreter\n", 23) == 23, "write");
    close(fd);
    fails(path, argv, environ, ENOENT);
    fd = open(path, O_WRONLY | O_TRUNC);
    must(write(fd, "\177ELF but not really, this is only a text of some length that pretends",
               70) == 70,
         "write");
    close(fd);
    fails(path, argv, environ, ENOEXEC);
    unlink(path);
    /* One argument of more than 128 KB; and more in all than fits. */
    big = map(1 << 20, PROT_READ | PROT_WRITE);
    memset(big, 'b', 200000);
    huge[0] = "x", huge[1] = big;
    fails("/bin/true", huge, environ, E2BIG);
    memset(big, 'b', 1000);
    big[1000] = 0;
    for (int i = 0; i < 39999; i++)
        many[i] = big;
    fails("/bin/true", many, environ, E2BIG);
    munmap(big, 1 << 20);
}

/* What the new program finds: the number of its arguments and the size of its environment. */
static int count(int argc, char **argv)
{
    long size = 0;
    for (char **e = environ; *e; e++)
        size += strlen(*e);
    for (int i = 1; i < argc; i++)
        size += strlen(argv[i]);
    say("%d arguments, %ld characters\n", argc, size);
    return 0;
}

static int without_anything(void)
{
    return execve("/proc/self/exe", (char *[]){"count", NULL}, NULL);
}

static int without_arguments(void)
{
    return (int)syscall(SYS_execve, "/proc/self/exe", NULL, (char *[]){"COUNT=1", NULL});
}

static int with_very_much(void)
{
    static char *argv[1001], *env[1002], text[1001];
    memset(text, 'c', 1000);
    argv[0] = "count";
    for (int i = 0; i < 999; i++)
        argv[i + 1] = env[i] = text;
    env[999] = "COUNT=1";
    return execve("/proc/self/exe", argv, env);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char dir[] = "/tmp/exec-XXXXXX";
    if (argc == 0 || getenv("COUNT") || !strcmp(argv[0], "count") || argv[0][0] == 0)
        return count(argc, argv);
    watchdog(WATCHDOG_SECONDS);
    stack_t stack = {.ss_sp = map(65536, PROT_READ | PROT_WRITE), .ss_size = 65536};
    sigaltstack(&stack, NULL);
    signal(SIGUSR1, on_signal);
    closing_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    kept_fd = open("/dev/null", O_RDONLY);
    must(!pthread_create(&thread, NULL, work, NULL) && mkdtemp(dir),
         "make a thread and a directory");
    for (int round = 0; round < 3; round++) {
        all_failures(dir);
        all_is_there();
    }
    rmdir(dir);
    done = true;
    pthread_join(thread, NULL);
    CHECK_IS(status_in_child(without_anything), 0);
    CHECK_IS(status_in_child(without_arguments), 0);
    CHECK_IS(status_in_child(with_very_much), 0);
    return verdict();
}
