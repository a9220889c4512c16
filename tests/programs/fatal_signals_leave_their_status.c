/* SPDX-License-Identifier: MIT */
/* Who dies of a signal, sent or raised by a fault, in the main thread or another, is reported dead of just that signal;
 * what is ignored by default does nothing. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>

static int now;

static int by_raise(void)
{
    raise(now);
    return 100;
}

static int by_kill(void)
{
    kill(getpid(), now);
    while (true)
        ; /* until it comes */
    return 0;
}

static void *raise_in_thread(void *arg)
{
    (void)arg;
    raise(now);
    return NULL;
}

static int in_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, raise_in_thread, NULL);
    pthread_join(thread, NULL);
    return 100;
}

static int while_asleep(void)
{
    pid_t parent = getpid(), pid = fork();
    if (!pid) {
        usleep(1000);
        kill(parent, now);
        _exit(0);
    }
    for (;;)
        pause();
}

static int does_nothing_when_ignored(void)
{
    signal(now, SIG_IGN);
    raise(now);
    return 101;
}

/* -- Faults ------------------------------------------------------------------------------------ */

static volatile char *volatile nowhere = (char *)24;

static int bad_read(void)
{
    return *nowhere;
}

static int bad_write(void)
{
    *nowhere = 1;
    return 0;
}

static int write_to_code(void)
{
    *(volatile char *)(uintptr_t)bad_read = 1;
    return 0;
}

static int run_data(void)
{
    return call_code(map(PAGE, PROT_READ | PROT_WRITE));
}

static int run_nowhere(void)
{
    return call_code((void *)0x10);
}

static int not_canonical(void)
{
    return *(volatile char *)0x8000000000000000;
}

static int illegal(void)
{
    asm volatile("ud2");
    return 0;
}

static int privileged(void)
{
    asm volatile("hlt");
    return 0;
}

static int breakpoint(void)
{
    asm volatile("int3");
    return 0;
}

static int division(void)
{
    asm volatile("div %0" : : "r"(0), "a"(1), "d"(0));
    return 0;
}

static int beyond_the_file(void)
{
    int fd = memfd_create("short", 0);
    return *(volatile char *)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
}

static int floating_point(void)
{
    asm volatile("ldmxcsr %0\n\tdivss %1, %1" : : "m"((const int){0x1d00}), "x"(0.0f));
    return 0;
}

__attribute__((noinline)) static int deeper(volatile char *from)
{
    volatile char room[4096];
    room[0] = *from;
    return room[0] == 'x' ? 0 : deeper(room) + room[0];
}

static int no_stack_left(void)
{
    setrlimit(RLIMIT_STACK, &(struct rlimit){256 * 1024, 256 * 1024});
    return deeper(&(char){0});
}

static int aborts(void)
{
    abort();
}

static void *fault_in_thread(void *arg)
{
    (void)arg;
    *nowhere = 1;
    return NULL;
}

static int thread_faults(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fault_in_thread, NULL);
    while (true)
        pause();
    return 0;
}

int main(void)
{
    static const int deadly[] = {SIGHUP,  SIGINT,  SIGQUIT,   SIGILL,  SIGTRAP, SIGABRT,
                                 SIGBUS,  SIGFPE,  SIGKILL,   SIGUSR1, SIGSEGV, SIGUSR2,
                                 SIGPIPE, SIGALRM, SIGTERM,   SIGXCPU, SIGPROF, SIGIO,
                                 SIGPWR,  SIGSYS,  SIGVTALRM, 34,      64};
    static const int harmless[] = {SIGCHLD, SIGURG, SIGWINCH, SIGCONT};
    static const struct {
        int (*run)(void);
        int sig;
    } faults[] = {{bad_read, SIGSEGV},      {bad_write, SIGSEGV},      {write_to_code, SIGSEGV},
                  {run_data, SIGSEGV},      {run_nowhere, SIGSEGV},    {not_canonical, SIGSEGV},
                  {illegal, SIGILL},        {privileged, SIGSEGV},     {breakpoint, SIGTRAP},
                  {division, SIGFPE},       {beyond_the_file, SIGBUS}, {floating_point, SIGFPE},
                  {no_stack_left, SIGSEGV}, {aborts, SIGABRT},         {thread_faults, SIGSEGV}};
    watchdog(WATCHDOG_SECONDS);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++) {
        now = deadly[i];
        CHECK_IS(status_in_child(i % 2 ? by_raise : by_kill), now);
        CHECK_IS(status_in_child(i % 2 ? in_thread : while_asleep), now);
        if (now != SIGKILL)
            CHECK_IS(status_in_child(does_nothing_when_ignored), 101 << 8);
    }
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        now = harmless[i];
        CHECK_IS(status_in_child(by_raise), 100 << 8);
    }
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        int status = status_in_child(faults[i].run);
        CHECK_IS(status, faults[i].sig);
        say("fault %zu: %s\n", i, status_text(status));
    }
    return verdict();
}
