/* SPDX-License-Identifier: MIT */
/* Threads that wait in all kinds of system calls, and one that computes. Nothing ever happens to them, so none may come back but by its own
 * time: whoever does says so. SIGUSR1 asks for the number of rounds; SIGTERM ends it. */
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t rounds[32];
static volatile int stop;
static int quiet_pipe[2], quiet_socket, semaphores;

static void complain(const char *who, long result)
{
    if (stop)
        return;
    printf("%s came back with %ld (%s)\n", who, result, result < 0 ? strerror(errno) : "no error");
    fflush(stdout);
}

/* A wait that never ends, and one that ends by its own time, which is checked. */
#define FOREVER(name, call)                   \
    static void *name(void *arg)              \
    {                                         \
        (void)arg;                            \
        for (;;) {                            \
            long result = (call);             \
            complain(#name, result);          \
            usleep(100000);                   \
        }                                     \
        return NULL;                          \
    }

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char byte;
static uint32_t word;
static struct pollfd polled;
static struct epoll_event event;
static int epoll;

FOREVER(reading, read(quiet_pipe[0], &byte, 1))
FOREVER(futex, syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0))
FOREVER(polling, poll(&polled, 1, -1))
FOREVER(epolling, epoll_wait(epoll, &event, 1, -1))
FOREVER(accepting, accept(quiet_socket, NULL, NULL))
FOREVER(semaphore, semop(semaphores, &(struct sembuf){0, -1, 0}, 1))

static void *waiting_for_a_signal(void *arg)
{
    sigset_t set;
    (void)arg;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    for (;;)
        complain("sigwaitinfo", sigwaitinfo(&set, NULL));
}

static void on_usr1(int sig);

/* Sleeps that must take as long as they say: not less, and not much more even if somebody looks on. */
static void *sleeping(void *arg)
{
    (void)arg;
    while (!stop) {
        double t = now();
        struct timespec ts = {0, 300000000};
        int r = nanosleep(&ts, NULL);
        double took = now() - t;
        if (r || took < 0.3)
            complain("nanosleep", r);
        rounds[1]++;
    }
    return NULL;
}

static void *timed_poll(void *arg)
{
    (void)arg;
    while (!stop) {
        double t = now();
        int r = poll(&polled, 1, 200);
        double took = now() - t;
        if (r || took < 0.199)
            complain("poll with a time", r);
        rounds[2]++;
    }
    return NULL;
}

/* The thread's own mask, stack for signals and handlers, as the kernel tells them. */
static void look_at_signals(const stack_t *own)
{
    stack_t stack;
    sigset_t mask;
    struct sigaction act;
    sigaltstack(NULL, &stack);
    if (stack.ss_sp != own->ss_sp || stack.ss_size != own->ss_size || stack.ss_flags != own->ss_flags)
        complain("sigaltstack", stack.ss_flags);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    if (!sigismember(&mask, SIGTERM) || sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGINT))
        complain("sigmask", 0);
    if (sigaction(SIGUSR1, NULL, &act) || act.sa_handler != on_usr1 || !(act.sa_flags & SA_RESTART))
        complain("sigaction", act.sa_flags);
    if (sigaction(SIGTRAP, NULL, &act) || act.sa_handler != on_usr1 || sigaction(SIGQUIT, NULL, &act) || act.sa_handler != SIG_IGN ||
        sigaction(SIGSEGV, NULL, &act) || act.sa_handler != SIG_DFL)
        complain("sigaction of another", act.sa_flags);
}

static void *computing(void *arg)
{
    stack_t own = {.ss_sp = malloc(SIGSTKSZ), .ss_size = SIGSTKSZ};
    uint64_t x = 1, sum = 0;
    double f = 0.5;
    (void)arg;
    sigaltstack(&own, NULL);
    while (!stop) {
        uint64_t before = x, y = x;
        look_at_signals(&own);
        for (int i = 0; i < 1000; i++) {
            x = x * 6364136223846793005ull + 1;
            f = f * 3.9 * (1 - f);
        }
        for (int i = 0; i < 1000; i++)
            y = y * 6364136223846793005ull + 1;
        sum += before;
        if (x != y || !(f > 0 && f < 1))
            complain("computing", (long)x);
        rounds[0]++;
    }
    return (void *)sum;
}

static void on_usr1(int sig)
{
    char text[64];
    int n = snprintf(text, sizeof text, "rounds %lu %lu %lu\n", (unsigned long)rounds[0], (unsigned long)rounds[1],
                     (unsigned long)rounds[2]);
    (void)sig;
    if (write(1, text, (size_t)n) < 0)
        _exit(3);
}

static void on_alarm(int sig)
{
    (void)sig;
    rounds[3]++;
}

int main(int argc, char **argv)
{
    void *(*const threads[])(void *) = {reading,  futex,     polling,  epolling,   accepting,
                                        semaphore, waiting_for_a_signal, sleeping, timed_poll, computing, computing};
    pthread_t id;
    sigset_t set;
    struct sigaction act = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};
    struct timeval timeout = {1000, 0};
    sigaction(SIGUSR1, &act, NULL);
    sigaction(SIGTRAP, &act, NULL);
    signal(SIGQUIT, SIG_IGN);
    act.sa_handler = on_alarm;
    sigaction(SIGALRM, &act, NULL);
    if (pipe(quiet_pipe) || (quiet_socket = socket(AF_UNIX, SOCK_STREAM, 0)) < 0)
        return 1;
    if (bind(quiet_socket, &(struct sockaddr){AF_UNIX, ""}, sizeof(sa_family_t)) || listen(quiet_socket, 1))
        return 1;
    setsockopt(quiet_socket, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    epoll = epoll_create1(0);
    polled = (struct pollfd){.fd = quiet_pipe[0], .events = POLLIN};
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        if (pthread_create(&id, NULL, threads[i], NULL))
            return 1;
    if (argc > 1) { /* a storm of timer signals on the main thread */
        struct itimerval storm = {{0, 1000}, {0, 1000}};
        setitimer(ITIMER_REAL, &storm, NULL);
    }
    (void)argv;
    sigdelset(&set, SIGTERM);
    sigdelset(&set, SIGUSR2);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    puts("ready");
    fflush(stdout);
    int sig;
    sigwait(&set, &sig);
    stop = 1;
    semctl(semaphores, 0, IPC_RMID);
    puts("ended");
    return 0;
}
