/* SPDX-License-Identifier: MIT */
/* Threads that wait for a limited time in every call that can, again and again. None may come back before its time, or with anything but what
 * its time says. SIGUSR1 asks how often each has waited. */
#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { MS = 700 };
static int quiet[2], epoll, semaphores, deaf, full;
static aio_context_t aio;
static struct sockaddr_un address = {AF_UNIX, ""};
static socklen_t address_size = sizeof(sa_family_t);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

#define TIME (&(struct timespec){MS / 1000, MS % 1000 * 1000000L})
static char byte;
static unsigned word;

static long by_epoll(void) { return epoll_wait(epoll, &(struct epoll_event){0}, 1, MS); }
static long by_epoll_pwait(void) { return epoll_pwait(epoll, &(struct epoll_event){0}, 1, MS, &(sigset_t){0}); }
static long by_epoll_pwait2(void) { return syscall(441, epoll, &(struct epoll_event){0}, 1, TIME, NULL, 0); }
static long by_semtimedop(void) { return semtimedop(semaphores, &(struct sembuf){0, -1, 0}, 1, TIME); }
static long by_io_getevents(void) { return syscall(SYS_io_getevents, aio, 1, 1, &(struct io_event){0}, TIME); }
static long by_recv(void) { return recv(deaf, &byte, 1, 0); }
static long by_read(void) { return read(deaf, &byte, 1); }
static long by_connect(void)
{
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){0, MS * 1000}, sizeof(struct timeval));
    long r = connect(s, (struct sockaddr *)&address, address_size);
    int why = errno;
    close(s);
    errno = why;
    return r;
}
static long by_poll(void) { return poll(&(struct pollfd){quiet[0], POLLIN, 0}, 1, MS); }
static long by_ppoll(void) { return ppoll(&(struct pollfd){quiet[0], POLLIN, 0}, 1, TIME, &(sigset_t){0}); }
static long by_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(quiet[0], &set);
    return select(quiet[0] + 1, &set, NULL, NULL, &(struct timeval){0, MS * 1000});
}
static long by_futex(void) { return syscall(SYS_futex, &word, FUTEX_WAIT, 0, TIME, NULL, 0); }
static long by_nanosleep(void) { return nanosleep(TIME, NULL); }
static long by_sigtimedwait(void)
{
    static const struct timespec limit = {MS / 1000, MS % 1000 * 1000000L}; /* read-only */
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigtimedwait(&set, NULL, &limit);
}

/* Another compiler's system call: it believes that r10 is what it was. */
static long by_own_call(void)
{
    static long first = MS;
    register long limit __asm__("r10") = first;
    long r, after;
    __asm__ volatile("syscall\n\tmov %%r10, %1"
                     : "=a"(r), "=r"(after), "+r"(limit)
                     : "a"(SYS_epoll_wait), "D"(epoll), "S"(&(struct epoll_event){0}), "d"(1)
                     : "rcx", "r11", "memory");
    if (after != first)
        printf("r10 has changed to %ld\n", after);
    return r;
}

static struct way {
    const char *name;
    long (*wait)(void);
    int error;
    volatile int times;
} ways[] = {
    {"epoll_wait", by_epoll, 0, 0},
    {"epoll_pwait", by_epoll_pwait, 0, 0},
    {"epoll_pwait2", by_epoll_pwait2, 0, 0},
    {"semtimedop", by_semtimedop, EAGAIN, 0},
    {"io_getevents", by_io_getevents, 0, 0},
    {"recv", by_recv, EAGAIN, 0},
    {"read", by_read, EAGAIN, 0},
    {"connect", by_connect, EAGAIN, 0},
    {"poll", by_poll, 0, 0},
    {"ppoll", by_ppoll, 0, 0},
    {"select", by_select, 0, 0},
    {"futex", by_futex, ETIMEDOUT, 0},
    {"nanosleep", by_nanosleep, 0, 0},
    {"sigtimedwait", by_sigtimedwait, EAGAIN, 0},
    {"own call", by_own_call, 0, 0},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void *run(void *arg)
{
    struct way *w = arg;
    for (;;) {
        double began = now();
        long r = w->wait();
        int error = r < 0 ? errno : 0;
        double took = now() - began;
        if (error != w->error || r > 0 || took < MS * 1e-3 - 0.002) {
            printf("%s came back after %.3f s with %ld (%s)\n", w->name, took, r, strerror(error));
            fflush(stdout);
        }
        w->times++;
    }
}

static void tell(int sig)
{
    char text[256] = "rounds";
    (void)sig;
    for (int i = 0; i < WAYS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), " %d", ways[i].times);
    strcat(text, "\n");
    if (write(1, text, strlen(text)) < 0)
        _exit(3);
}

int main(void)
{
    int pair[2], s = socket(AF_UNIX, SOCK_STREAM, 0);
    pthread_t id;
    sigset_t set;
    setvbuf(stdout, NULL, _IONBF, 0);
    if (pipe(quiet) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) || s < 0)
        return 1;
    deaf = pair[0];
    setsockopt(deaf, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){0, MS * 1000}, sizeof(struct timeval));
    if (bind(s, (struct sockaddr *)&address, address_size) || listen(s, 0))
        return 1;
    address_size = sizeof address;
    getsockname(s, (struct sockaddr *)&address, &address_size);
    full = socket(AF_UNIX, SOCK_STREAM, 0);
    connect(full, (struct sockaddr *)&address, address_size); /* nobody accepts: no other gets in */
    epoll = epoll_create1(0);
    semaphores = semget(IPC_PRIVATE, 1, 0600);
    if (syscall(SYS_io_setup, 1, &aio))
        return 1;
    signal(SIGUSR1, tell);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int i = 0; i < WAYS; i++)
        if (pthread_create(&id, NULL, run, &ways[i]))
            return 1;
    puts("ready");
    for (;;) {
        sigemptyset(&set);
        sigsuspend(&set);
    }
}
