/* SPDX-License-Identifier: MIT */
/* What the process tells about itself: its name and those of its threads, its exe, tasks, children and descriptors;
 * prctl settings; nothing of it shows anybody else. */
#include "check.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>

static void read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    text[n < 0 ? 0 : n] = 0;
    CHECK(n >= 0);
    close(fd);
}

/* The value of a line of /proc/self/status. */
static long status_value(const char *key)
{
    char text[4096];
    read_text("/proc/self/status", text, sizeof text);
    char *at = strstr(text, key);
    CHECK(at != NULL);
    return at ? strtol(at + strlen(key), NULL, strstr(key, "Sig") ? 16 : 10) : -1;
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    must(dir != NULL, "open a directory");
    for (struct dirent *e; (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static pthread_barrier_t barrier;

static void *in_thread(void *arg)
{
    char name[32], path[64];
    (void)arg;
    CHECK(!prctl(PR_SET_NAME, "another"));
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", gettid());
    read_text(path, name, sizeof name);
    CHECK(!strcmp(name, "another\n"));
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void names(void)
{
    char name[32], own[] = "prctl_and_proc_", text[32];
    CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, own));
    CHECK(!prctl(PR_SET_NAME, "a new name"));
    read_text("/proc/self/comm", text, sizeof text);
    CHECK(!strcmp(text, "a new name\n"));
    prctl(PR_SET_NAME, own);
}

static void tasks(void)
{
    pthread_t thread;
    char text[64];
    CHECK_IS(entries("/proc/self/task"), 1);
    CHECK_IS(status_value("Threads:"), 1);
    pthread_barrier_init(&barrier, NULL, 2);
    must(!pthread_create(&thread, NULL, in_thread, NULL), "create a thread");
    pthread_barrier_wait(&barrier);
    CHECK_IS(entries("/proc/self/task"), 2);
    read_text("/proc/self/comm", text, sizeof text);
    CHECK(!strcmp(text, "prctl_and_proc_\n"));
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    CHECK_IS(status_value("TracerPid:"), 0);
    CHECK_IS(status_value("Seccomp:"), 0);
}

static void ids(void)
{
    CHECK_IS(status_value("Pid:"), getpid());
    CHECK_IS(status_value("PPid:"), getppid());
    CHECK_IS(gettid(), getpid());
    CHECK_IS(syscall(SYS_set_tid_address, (int[1]){0}), getpid());
}

static void settings(void)
{
    int value = -1;
    CHECK_IS(prctl(PR_GET_DUMPABLE), 1);
    CHECK_IS(prctl(PR_SET_DUMPABLE, 0), 0);
    CHECK_IS(prctl(PR_GET_DUMPABLE), 0);
    /* Still able to run what is new, and to fault. */
    char *page = map(PAGE, PROT_READ | PROT_WRITE);
    put_return(page, 9);
    mprotect(page, PAGE, PROT_READ | PROT_EXEC);
    CHECK_IS(call_code(page), 9);
    CHECK_IS(prctl(PR_SET_DUMPABLE, 1), 0);
    CHECK(!prctl(PR_GET_PDEATHSIG, &value) && value == 0);
    CHECK(!prctl(PR_SET_PDEATHSIG, SIGHUP) && !prctl(PR_GET_PDEATHSIG, &value) && value == SIGHUP);
    prctl(PR_SET_PDEATHSIG, 0);
    CHECK_IS(prctl(PR_GET_KEEPCAPS), 0);
    CHECK(!prctl(PR_GET_CHILD_SUBREAPER, &value) && value == 0);
    CHECK_IS(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 0);
    CHECK_IS(prctl(PR_GET_SECCOMP), 0);
    CHECK_IS(prctl(PR_GET_TIMERSLACK), 50000);
    CHECK(!prctl(PR_GET_TSC, &value) && value == PR_TSC_ENABLE);
    CHECK(prctl(12345, 1, 2, 3, 4) == -1 && errno == EINVAL);
}

/* A counter that cannot be read is a fault at the instruction. */
static void no_clock(void)
{
    prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    CATCH(asm volatile("rdtsc" : : : "rax", "rdx"));
    prctl(PR_SET_TSC, PR_TSC_ENABLE);
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK(is_own_text(fault.reg[REG_RIP]));
    CHECK_IS(memcmp((void *)fault.reg[REG_RIP], "\x0f\x31", 2), 0);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    note_text();
    catch_faults(0);
    names();
    ids();
    tasks();
    settings();
    no_clock();
    return verdict();
}
