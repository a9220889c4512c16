/* SPDX-License-Identifier: MIT */
/* A program with threads forks under a rain of signals: every child is whole, alone, has the handlers, and ends well,
 * whether it computes, takes signals, forks again or becomes another program; the parent's threads never notice.
 *
 *   [CHILDREN]     default 20 */
/* long: 100 */
#include "check.h"
#include <dirent.h>
#include <pthread.h>

enum { THREADS = 4 };

static volatile bool done;
static volatile long arrived, pulses;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded[2];

static void on_pulse(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)info;
    CHECK(is_own_text(((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]));
    __sync_fetch_and_add(&pulses, 1);
    if (!done)
        pulse_in(300000);
}

static void on_user(int sig)
{
    (void)sig;
    arrived++;
}

static long compute(uint32_t seed)
{
    long sum = 0;
    char *text = malloc(100 + seed % 900);
    for (int i = 0; i < 100; i++)
        sum += snprintf(text, 50, "%u %.3f", next_random(&seed), i / 7.0);
    free(text);
    return sum;
}

static void *work(void *arg)
{
    long wanted = compute((uint32_t)(long)arg);
    while (!done) {
        CHECK_IS(compute((uint32_t)(long)arg), wanted);
        pthread_mutex_lock(&lock);
        guarded[0]++;
        guarded[1]++;
        pthread_mutex_unlock(&lock);
        usleep(5000);
    }
    return NULL;
}

static int tasks(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;
    for (struct dirent *e; dir && (e = readdir(dir));)
        count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void in_child(int way)
{
    arrived = 0;
    CHECK_IS(tasks(), 1);
    CHECK_IS(guarded[0], guarded[1]);
    CHECK_IS(compute(7), compute(7));
    for (int i = 0; i < 10; i++)
        raise(SIGUSR1);
    CHECK_IS(arrived, 10);
    if (way % 4 == 1) {
        pid_t pid = fork_watched();
        if (!pid)
            _exit(compute(5) == compute(5) ? 44 : 1);
        CHECK_IS(status_of(pid), 44 << 8);
    }
    if (way % 4 == 2) {
        execl("/proc/self/exe", "again", "child", (char *)NULL);
        fail("exec failed\n");
    }
    if (way % 4 == 3) {
        pthread_t thread;
        pthread_mutex_init(&lock, NULL);
        done = true;
        must(!pthread_create(&thread, NULL, work, (void *)3), "create a thread");
        pthread_join(thread, NULL);
    }
    _exit(check_failures ? 1 : 55);
}

int main(int argc, char **argv)
{
    pthread_t thread[THREADS];
    int children = argc > 1 ? atoi(argv[1]) : 8;
    watchdog(WATCHDOG_SECONDS + 2 * children);
    if (argc > 1 && !strcmp(argv[1], "child"))
        return signal(SIGUSR1, SIG_DFL) == SIG_DFL ? 55 : 1;
    note_text();
    handle(SIGALRM, on_pulse, SA_RESTART);
    signal(SIGUSR1, on_user);
    pulse_start(SIGALRM);
    pulse_in(100000);
    for (long i = 0; i < THREADS; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)(i + 1)), "create a thread");
    for (int i = 0; i < children; i++) {
        pthread_mutex_lock(&lock); /* so that the child sees the pair complete */
        pid_t pid = fork_watched();
        if (!pid)
            in_child(i);
        pthread_mutex_unlock(&lock);
        CHECK_IS(status_of(pid), 55 << 8);
    }
    while (pulses < 5)
        usleep(100);
    done = true;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_IS(guarded[0], guarded[1]);
    say("%d children\n", children);
    return verdict();
}
