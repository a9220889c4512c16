/* SPDX-License-Identifier: MIT */
/* A program linked statically, without a loader, does what all do: chosen string functions, threads, signals, faults,
 * fresh code, children, floating point. */
/* build: -static */
#include "check.h"
#include <math.h>
#include <pthread.h>

static __thread int own = 5;
static volatile int arrived;

static void on_signal(int sig)
{
    (void)sig;
    arrived++;
}

static void *work(void *arg)
{
    own += (int)(long)arg;
    raise(SIGUSR1);
    return (void *)(long)own;
}

static int in_child(void)
{
    char text[64];
    snprintf(text, sizeof text, "%.6f", sqrt(2) * cbrt(27));
    return strcmp(text, "4.242641") ? 1 : 6;
}

int main(void)
{
    char long_text[5000];
    pthread_t thread[4];
    void *result;
    watchdog(WATCHDOG_SECONDS);
    signal(SIGUSR1, on_signal);
    catch_faults(0);
    for (int i = 0; i < 5000; i += 7) { /* the library chooses these by processor */
        memset(long_text, 'a', i);
        long_text[i] = 0;
        CHECK_IS(strlen(long_text), i);
        CHECK(strchr(long_text, 'b') == NULL);
        CHECK(memchr(long_text, 0, i + 1) == long_text + i);
    }
    for (long i = 0; i < 4; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)i), "create a thread");
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], &result);
        CHECK_IS((long)result, 5 + i);
    }
    CHECK_IS(arrived, 4);
    CHECK_IS(own, 5);
    volatile char *volatile nowhere = (char *)48;
    CATCH(*nowhere = 1);
    CHECK(fault.sig == SIGSEGV && fault.addr == (void *)48);
    unsigned char *page = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(page, 3);
    CHECK_IS(call_code(page), 3);
    CHECK_IS(status_in_child(in_child), 6 << 8);
    say("%.10f\n", sin(1) + exp(0.5));
    return verdict();
}
