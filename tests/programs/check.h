/* SPDX-License-Identifier: MIT */
/* What the programs here share: claims that are checked, a watchdog, faults that are caught, pages of code.
 *
 * On stdout a program says only what is the same in every run; what went wrong goes to stderr, and the status says whether
 * anything did. Everything here may be called in a signal handler. */
#ifndef CHECK_H
#define CHECK_H
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef WATCHDOG_SECONDS
#define WATCHDOG_SECONDS 50
#endif
enum { PAGE = 4096, SKIP = 77 };

static volatile int check_failures;

/* -- Saying and checking ------------------------------------------------------------------- */

static inline void check_write(int fd, const char *format, va_list args)
{
    char line[512];
    int n = vsnprintf(line, sizeof line, format, args);
    n = n < (int)sizeof line ? n : (int)sizeof line - 1;
    if (write(fd, line, n) != n)
        _exit(3);
}

/* Print to stdout at once: nothing is left in a buffer that a fork could double. */
__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    check_write(1, format, args);
    va_end(args);
}

/* Note that a claim does not hold; the first few are printed. */
__attribute__((format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
    int saved = errno;
    va_list args;
    va_start(args, format);
    if (__sync_fetch_and_add(&check_failures, 1) < 10)
        check_write(2, format, args);
    va_end(args);
    errno = saved;
}

#define CHECK(claim) \
    ((claim) ? (void)0 : fail("%s:%d: does not hold: %s\n", __FILE_NAME__, __LINE__, #claim))
#define CHECK_IS(value, wanted) \
    check_is((long)(value), (long)(wanted), #value, __FILE_NAME__, __LINE__)

static inline void check_is(long value, long wanted, const char *text, const char *file, int line)
{
    if (value != wanted)
        fail("%s:%d: %s is %ld (0x%lx), not %ld (0x%lx)\n", file, line, text, value, value, wanted,
             wanted);
}

/* The status to leave main with. */
static inline int verdict(void)
{
    if (!check_failures)
        say("all held\n");
    return check_failures ? 1 : 0;
}

static inline int skip(const char *reason)
{
    say("skip: %s\n", reason);
    return SKIP;
}

/* The environment is not what the program needs; nothing is said about the claim. */
static inline void must(bool done, const char *what)
{
    if (!done) {
        fail("cannot %s: %s\n", what, strerror(errno));
        _exit(2);
    }
}

/* -- Not hanging --------------------------------------------------------------------------- */

/* Kill this process if it still runs after so many seconds. Works whatever it does with SIGALRM; a forked child needs its own. */
static inline void watchdog(int seconds)
{
    struct sigevent kill_me = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec once = {.it_value.tv_sec = seconds};
    timer_t timer;
    must(!timer_create(CLOCK_MONOTONIC, &kill_me, &timer) && !timer_settime(timer, 0, &once, NULL),
         "set the watchdog");
}

/* fork, with a watchdog in the child; it leaves no core. */
static inline pid_t fork_watched(void)
{
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (!pid) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, RLIM_INFINITY});
        watchdog(WATCHDOG_SECONDS);
    }
    return pid;
}

/* Wait for one child and return its wait status. */
static inline int status_of(pid_t pid)
{
    int status;
    pid_t got;
    while ((got = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
        ;
    must(got == pid, "wait for a child");
    return status;
}

/* Run a function in a child and return its wait status. */
static inline int status_in_child(int (*run)(void))
{
    pid_t pid = fork_watched();
    if (!pid)
        _exit(run());
    return status_of(pid);
}

/* "exit 3" or "signal 11": a wait status without numbers that differ between runs. */
static inline const char *status_text(int status)
{
    static char text[32];
    if (WIFEXITED(status))
        snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));
    else
        snprintf(text, sizeof text, "signal %d", WTERMSIG(status));
    return text;
}

/* -- Signals ------------------------------------------------------------------------------- */

static inline void handle(int sig, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction act = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    must(!sigaction(sig, &act, NULL), "install a handler");
}

static inline void block(int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static inline void unblock(int sig)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, sig);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static inline bool is_blocked(int sig)
{
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    return sigismember(&set, sig) == 1;
}

/* A timer that fires once and is set again by its handler: however slow handlers are, the program goes on between them. */
static timer_t pulse_timer;

static inline void pulse_start(int sig)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = sig};
    must(!timer_create(CLOCK_MONOTONIC, &event, &pulse_timer), "create a timer");
}

static inline void pulse_in(long ns)
{
    struct itimerspec once = {.it_value.tv_nsec = ns};
    timer_settime(pulse_timer, 0, &once, NULL);
}

/* A value that differs from round to round the same way in every run. */
static inline uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

/* -- Code that is the program's own ----------------------------------------------------------- */

static struct {
    uintptr_t from, to;
} own_text[64];
static int own_texts;

static inline int note_object(struct dl_phdr_info *object, size_t size, void *arg)
{
    (void)size, (void)arg;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X) || own_texts == 64)
            continue;
        own_text[own_texts].from = object->dlpi_addr + part->p_vaddr;
        own_text[own_texts++].to = object->dlpi_addr + part->p_vaddr + part->p_memsz;
    }
    return 0;
}

/* Learn where the code of the program, its libraries and the vdso is. */
static inline void note_text(void)
{
    own_texts = 0;
    dl_iterate_phdr(note_object, NULL);
}

/* Whether a pc that a handler found is one that the program could have. */
static inline bool is_own_text(uintptr_t pc)
{
    for (int i = 0; i < own_texts; i++)
        if (pc >= own_text[i].from && pc < own_text[i].to)
            return true;
    return false;
}

/* -- Faults -------------------------------------------------------------------------------- */

/* What the handler of a fault saw, for the thread that catches it. */
struct fault {
    int sig, code;
    void *addr;
    greg_t reg[NGREG];
    sigset_t mask;
};

static __thread struct fault fault;
static __thread sigjmp_buf fault_out;

static inline void fault_note(int sig, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    fault.sig = sig;
    fault.code = info->si_code;
    fault.addr = info->si_addr;
    fault.mask = uc->uc_sigmask;
    memcpy(fault.reg, uc->uc_mcontext.gregs, sizeof fault.reg);
    siglongjmp(fault_out, 1);
}

/* From now on faults are noted and leave CATCH. */
static inline void catch_faults(int flags)
{
    const int sigs[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
    for (size_t i = 0; i < sizeof sigs / sizeof *sigs; i++)
        handle(sigs[i], fault_note, flags);
}

/* Do something; afterwards `fault` says how it faulted, sig 0 if it did not. */
#define CATCH(what)                      \
    do {                                 \
        memset(&fault, 0, sizeof fault); \
        if (!sigsetjmp(fault_out, 1)) {  \
            what;                        \
        }                                \
    } while (0)

/* -- Memory -------------------------------------------------------------------------------- */

static inline void *map(size_t size, int prot)
{
    void *p = mmap(NULL, size, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(p != MAP_FAILED, "map memory");
    return p;
}

/* mov eax, n; ret */
enum { RETURN_SIZE = 6 };
static inline void put_return(void *at, int n)
{
    unsigned char code[RETURN_SIZE] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &n, 4);
    memcpy(at, code, sizeof code);
}

static inline int call_code(const void *at)
{
    return ((int (*)(void))(uintptr_t)at)();
}

#endif
