/* SPDX-License-Identifier: MIT */
/* A program at its limits of address space and locked memory still runs new code, handles faults, makes threads and
 * children, and gets ENOMEM where it must. */
#include "check.h"
#include <pthread.h>

static long pages_in_use(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    must(f && fscanf(f, "%ld", &pages) == 1, "read the size");
    fclose(f);
    return pages;
}

static void *idle(void *arg)
{
    return arg;
}

/* Take all there is left, in ever smaller pieces. */
static long take_all(void)
{
    long taken = 0;
    for (size_t size = 64 << 20; size >= PAGE; size /= 2) {
        void *p;
        while ((p = mmap(NULL, size, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) != MAP_FAILED)
            taken += size / PAGE;
        CHECK_IS(errno, ENOMEM);
    }
    return taken;
}

/* Fresh code, in many places: each of these is a function of its own. */
#define FRESH(n)                                            \
    __attribute__((noinline)) static long fresh_##n(long x) \
    {                                                       \
        asm volatile("" : "+r"(x));                         \
        return x % 3 ? x * n + 1 : x - n;                   \
    }
FRESH(1)
FRESH(2)
FRESH(3)
FRESH(4)
FRESH(5)
FRESH(6)
FRESH(7)
FRESH(8)

static long (*const fresh[])(long) = {fresh_1, fresh_2, fresh_3, fresh_4,
                                      fresh_5, fresh_6, fresh_7, fresh_8};

static volatile int arrived;

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

static void go_on(unsigned char *page)
{
    long sum = 0;
    for (int i = 0; i < 8; i++)
        sum += fresh[i](i + 1);
    CHECK_IS(sum, 165);
    put_return(page, 77);
    CHECK_IS(call_code(page), 77);
    volatile char *volatile nowhere = (char *)32;
    CATCH(*nowhere = 1);
    CHECK_IS(fault.sig, SIGSEGV);
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 20; i++)
        raise(SIGUSR1);
    CHECK_IS(arrived, 20);
    CHECK(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED &&
          errno == ENOMEM);
}

static int at_the_limit(void)
{
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (pages_in_use() + 2048) * PAGE;
    must(!setrlimit(RLIMIT_AS, &limit), "limit the address space");
    CHECK(take_all() >= 1024);
    go_on(page);
    pthread_t thread;
    CHECK_IS(pthread_create(&thread, NULL, idle, NULL), EAGAIN);
    pid_t pid = fork_watched();
    if (!pid)
        _exit(fresh_1(1) == 2 ? 0 : 1);
    CHECK_IS(status_of(pid), 0);
    return check_failures ? 1 : 0;
}

/* With room for a few stacks of their own, threads can be made. */
static int small_stacks(void)
{
    struct rlimit limit;
    char *stacks = map(16 * 32768, PROT_READ | PROT_WRITE);
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (pages_in_use() + 64) * PAGE;
    setrlimit(RLIMIT_AS, &limit);
    for (int i = 0; i < 16; i++) {
        pthread_t thread;
        pthread_attr_t attr;
        void *result;
        pthread_attr_init(&attr);
        pthread_attr_setstack(&attr, stacks + i * 32768, 32768);
        CHECK_IS(pthread_create(&thread, &attr, idle, (void *)(long)i), 0);
        pthread_join(thread, &result);
        CHECK_IS((long)result, i);
    }
    return check_failures ? 1 : 0;
}

static int locked(void)
{
    CHECK(!mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) || errno == EPERM || errno == ENOMEM);
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(page, 78);
    CHECK_IS(call_code(page), 78);
    CHECK_IS(fresh_5(2), 11);
    munlockall();
    return check_failures ? 1 : 0;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    CHECK_IS(status_in_child(at_the_limit), 0);
    CHECK_IS(status_in_child(small_stacks), 0);
    CHECK_IS(status_in_child(locked), 0);
    return verdict();
}
