/* SPDX-License-Identifier: MIT */
/* Blocking calls hit by handlers: with SA_RESTART those that start again go on to their real result, all others and all
 * without it say EINTR. */
#include "check.h"
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>

static int pipe_fds[2], full_fds[2], socks[2], slow_socks[2], epoll_fd, queue, sems, lock_fd;
static int futex_word;
static pid_t child;
static pthread_t main_thread;
static volatile int arrived;
static char buffer[1 << 17];

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

/* -- The calls, each with a way to let it finish ------------------------------------------------ */

static long do_read(void)
{
    return read(pipe_fds[0], buffer, 1);
}

static void let_read(void)
{
    must(write(pipe_fds[1], "x", 1) == 1, "write");
}

static long do_write(void)
{
    return write(full_fds[1], buffer, 1);
}

static void let_write(void)
{
    must(read(full_fds[0], buffer, PAGE) == PAGE, "drain");
}

static long do_recv(void)
{
    return recv(socks[0], buffer, 1, 0);
}

static void let_recv(void)
{
    must(send(socks[1], "x", 1, 0) == 1, "send");
}

static long do_recv_with_limit(void)
{
    return recv(slow_socks[0], buffer, 1, 0);
}

static long do_wait(void)
{
    int status;
    return waitpid(child, &status, 0) == child ? 1 : -1;
}

static void let_wait(void)
{
    kill(child, SIGKILL);
}

static long do_futex(void)
{
    return syscall(SYS_futex, &futex_word, FUTEX_WAIT, 0, NULL, NULL, 0)
               ? (errno == EAGAIN ? 1 : -1)
               : 1;
}

static void let_futex(void)
{
    futex_word = 1;
    syscall(SYS_futex, &futex_word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static long do_poll(void)
{
    struct pollfd p = {.fd = pipe_fds[0], .events = POLLIN};
    return poll(&p, 1, -1);
}

static long do_select(void)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pipe_fds[0], &set);
    return select(pipe_fds[0] + 1, &set, NULL, NULL, NULL);
}

static long do_epoll(void)
{
    struct epoll_event event;
    return epoll_wait(epoll_fd, &event, 1, -1);
}

static long do_nanosleep(void)
{
    struct timespec hour = {.tv_sec = 3600}, left = {0};
    int result = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, &left);
    CHECK(left.tv_sec > 3000 && left.tv_sec <= 3600);
    errno = result;
    return result ? -1 : 1;
}

static long do_pause(void)
{
    return pause();
}

static long do_message(void)
{
    return msgrcv(queue, buffer, 8, 0, 0);
}

static long do_semaphore(void)
{
    struct sembuf down = {.sem_op = -1};
    return semop(sems, &down, 1);
}

static long do_sigwait(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return sigwaitinfo(&set, NULL);
}

static long do_lock(void)
{
    struct flock lock = {.l_type = F_WRLCK};
    return fcntl(lock_fd, F_SETLKW, &lock) ? -1 : 1;
}

static struct call {
    const char *name;
    long (*wait)(void);
    void (*let)(void); /* NULL: SA_RESTART does not help */
} calls[] = {
    {"read", do_read, let_read},
    {"write", do_write, let_write},
    {"recv", do_recv, let_recv},
    {"wait", do_wait, let_wait},
    {"futex", do_futex, let_futex},
    {"lock", do_lock, let_wait},
    {"recv with a limit", do_recv_with_limit, NULL},
    {"poll", do_poll, NULL},
    {"select", do_select, NULL},
    {"epoll_wait", do_epoll, NULL},
    {"nanosleep", do_nanosleep, NULL},
    {"pause", do_pause, NULL},
    {"msgrcv", do_message, NULL},
    {"semop", do_semaphore, NULL},
    {"sigwaitinfo", do_sigwait, NULL},
};
enum { CALLS = sizeof calls / sizeof *calls };

/* -- Interrupting them ---------------------------------------------------------------------------- */

static struct call *volatile now;
static volatile bool restart, finished;

/* Send signals until the call is over; a call that starts again is let finish after some. */
static void *interrupt(void *arg)
{
    (void)arg;
    for (int i = 0; !finished; i++) {
        int before = arrived;
        pthread_kill(main_thread, SIGUSR1);
        while (arrived == before && !finished)
            usleep(100);
        usleep(300);
        if (i == 5 && restart && now->let)
            now->let();
    }
    return NULL;
}

/* The child that is waited for holds the lock, too. */
static void make_child(void)
{
    int told[2];
    char byte;
    must(!pipe(told), "make a pipe");
    child = fork_watched();
    if (!child) {
        struct flock lock = {.l_type = F_WRLCK};
        fcntl(lock_fd, F_SETLKW, &lock);
        must(write(told[1], "x", 1) == 1, "tell");
        for (;;)
            pause();
    }
    must(read(told[0], &byte, 1) == 1, "hear");
    close(told[0]);
    close(told[1]);
}

static void one_call(struct call *call)
{
    pthread_t sender;
    bool expect_restart = restart && call->let;
    now = call;
    finished = false;
    arrived = futex_word = 0;
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0};
    sigaction(SIGUSR1, &act, NULL);
    must(!pthread_create(&sender, NULL, interrupt, NULL), "create a thread");
    long result;
    int error;
    result = call->wait();
    error = errno;
    int heard = arrived;
    finished = true;
    pthread_join(sender, NULL);
    if (expect_restart ? result != 1 : result != -1 || error != EINTR)
        fail("%s: result %ld, error %d\n", call->name, result, error);
    CHECK(heard >= 1);
    if (restart)
        say("%s: %s\n", call->name, result == 1 ? "goes on" : "EINTR");
}

int main(void)
{
    char path[] = "/tmp/restart-XXXXXX";
    struct timeval limit = {.tv_sec = 3000};
    struct epoll_event in = {.events = EPOLLIN};
    watchdog(WATCHDOG_SECONDS);
    main_thread = pthread_self();
    epoll_fd = epoll_create1(0);
    queue = msgget(IPC_PRIVATE, 0600);
    sems = semget(IPC_PRIVATE, 1, 0600);
    lock_fd = mkstemp(path);
    unlink(path);
    must(!pipe(pipe_fds) && !pipe(full_fds) && !socketpair(AF_UNIX, SOCK_STREAM, 0, socks) &&
             !socketpair(AF_UNIX, SOCK_STREAM, 0, slow_socks) && queue >= 0 && sems >= 0 &&
             lock_fd >= 0,
         "make descriptors");
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pipe_fds[0], &in);
    setsockopt(slow_socks[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    fcntl(full_fds[1], F_SETFL, O_NONBLOCK);
    while (write(full_fds[1], buffer, PAGE) > 0)
        ;
    fcntl(full_fds[1], F_SETFL, 0);
    for (int pass = 0; pass < 2; pass++) {
        restart = pass;
        make_child();
        for (int i = 0; i < CALLS; i++) {
            one_call(&calls[i]);
            if (restart && calls[i].wait == do_wait)
                make_child();
            if (restart && calls[i].wait == do_lock) {
                struct flock drop = {.l_type = F_UNLCK};
                fcntl(lock_fd, F_SETLK, &drop);
                status_of(child);
            }
        }
        if (!restart) {
            kill(child, SIGKILL);
            status_of(child);
        }
    }
    msgctl(queue, IPC_RMID, NULL);
    semctl(sems, 0, IPC_RMID);
    return verdict();
}
