/* SPDX-License-Identifier: MIT */
/* exec from a thread that is not the first, or from several at once, while others run, sleep and exit: one wins, takes
 * the process's id, and nobody else is left. */
#include "check.h"
#include <dirent.h>
#include <pthread.h>

static char pid_text[16], self[300]; /* /proc/self/exe is gone with the first thread */
static volatile int started;
static pthread_barrier_t barrier;

static void *spin(void *arg)
{
    __sync_fetch_and_add(&started, 1);
    for (volatile long i = (long)arg;; i++)
        if (i % 1000 == 0)
            sched_yield();
    return NULL;
}

static void *sleep_on(void *arg)
{
    (void)arg;
    __sync_fetch_and_add(&started, 1);
    for (;;)
        pause();
    return NULL;
}

static void *become(void *arg)
{
    pthread_barrier_wait(&barrier);
    execl(self, "again", pid_text, (char *)arg, (char *)NULL);
    return NULL;
}

static int crowd(int racing, bool main_leaves)
{
    pthread_t thread;
    snprintf(pid_text, sizeof pid_text, "%d", getpid());
    pthread_barrier_init(&barrier, NULL, racing);
    for (long i = 0; i < 2; i++) {
        pthread_create(&thread, NULL, spin, (void *)i);
        pthread_create(&thread, NULL, sleep_on, NULL);
    }
    while (started < 4)
        sched_yield();
    for (int i = 0; i < racing; i++)
        pthread_create(&thread, NULL, become, "x");
    if (main_leaves)
        pthread_exit(NULL);
    for (;;)
        pause();
    return 0;
}

static int one(void)
{
    return crowd(1, false);
}

static int three(void)
{
    return crowd(3, false);
}

static int without_main(void)
{
    return crowd(1, true);
}

/* In the new program. */
static int second(pid_t pid)
{
    DIR *dir = opendir("/proc/self/task");
    int tasks = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        tasks += e->d_name[0] != '.';
    closedir(dir);
    CHECK_IS(tasks, 1);
    CHECK_IS(getpid(), pid);
    CHECK_IS(gettid(), pid);
    return check_failures ? 1 : 66;
}

int main(int argc, char **argv)
{
    watchdog(WATCHDOG_SECONDS);
    must(readlink("/proc/self/exe", self, sizeof self - 1) > 0, "find the program");
    if (argc > 2)
        return second(atoi(argv[1]));
    if (argc == 2) { /* the last scene, in the first process */
        int status = second(atoi(argv[1]));
        return status == 66 ? verdict() : 1;
    }
    for (int i = 0; i < 4; i++) {
        CHECK_IS(status_in_child(one), 66 << 8);
        CHECK_IS(status_in_child(three), 66 << 8);
        CHECK_IS(status_in_child(without_main), 66 << 8);
    }
    if (check_failures)
        return 1;
    pthread_t thread;
    snprintf(pid_text, sizeof pid_text, "%d", getpid());
    pthread_barrier_init(&barrier, NULL, 1);
    pthread_create(&thread, NULL, become, NULL);
    for (;;)
        pause();
}
