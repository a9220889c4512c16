/* SPDX-License-Identifier: MIT */
/* Restartable sequences either are refused to the program, or abort when they must: counters per processor, kept without
 * atomic instructions by threads that are moved and interrupted, add up. What cannot be is a sequence that is registered
 * and not restarted. */
#include "check.h"
#include <linux/rseq.h>
#include <pthread.h>
#include <sched.h>
#include <sys/rseq.h>

enum { THREADS = 4, COUNTS = 20000, CPUS = 1024 };

/* One line of the cache per processor. */
struct counter {
    long value;
    char pad[56];
} counters[CPUS];
static long atomic_total;
static volatile long aborts;

static struct rseq *own_area(void)
{
    return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/* Add one to this processor's counter; false if the sequence was aborted and must be tried again. */
static bool count_once(struct rseq *area)
{
    uint32_t cpu = *(volatile uint32_t *)&area->cpu_id_start;
    asm goto(".pushsection __rseq_cs, \"aw\"\n\t"
             ".balign 32\n"
             "3:\t.long 0, 0\n\t"
             ".quad 1f, 2f - 1f, 4f\n\t"
             ".popsection\n\t"
             "lea 3b(%%rip), %%rax\n\t"
             "mov %%rax, %c[cs](%[area])\n"
             "1:\tcmp %[cpu], %c[id](%[area])\n\t"
             "jne %l[again]\n\t"
             "mov (%[counter]), %%rax\n\t"
             ".rept 20\n\t" /* time for something to happen */
             "pause\n\t"
             ".endr\n\t"
             "add $1, %%rax\n\t"
             "mov %%rax, (%[counter])\n"
             "2:\n\t"
             ".pushsection __rseq_failure, \"ax\"\n\t"
             ".byte 0x0f, 0xb9, 0x3d\n\t"
             ".long 0x53053053\n"
             "4:\tjmp %l[aborted]\n\t"
             ".popsection"
             :
             : [area] "r"(area), [cpu] "r"(cpu), [counter] "r"(&counters[cpu % CPUS].value),
               [cs] "i"(offsetof(struct rseq, rseq_cs)), [id] "i"(offsetof(struct rseq, cpu_id))
             : "rax", "memory", "cc"
             : again, aborted);
    return true;
aborted:
    aborts++;
again:
    return false;
}

static volatile bool is_registered;

static void *work(void *arg)
{
    struct rseq *area = own_area();
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    bool registered = __rseq_size > 0 && (int)area->cpu_id >= 0;
    if (registered)
        is_registered = true;
    for (int i = 0; i < COUNTS; i++) {
        if (!registered)
            __sync_fetch_and_add(&atomic_total, 1);
        else
            while (!count_once(area))
                ;
        if (i % 2000 == 0) { /* to another processor, if there is one */
            CPU_ZERO(&one);
            CPU_SET((i / 2000 + (long)arg) % CPU_COUNT(&all), &one);
            sched_setaffinity(0, sizeof one, i % 4000 ? &one : &all);
        }
        if (i % 1000 == 0)
            sched_yield();
    }
    return NULL;
}

static void on_signal(int sig)
{
    (void)sig;
}

static volatile bool done;

/* Interrupt everybody now and then: that is what aborts are for. */
static void *interrupt(void *arg)
{
    pthread_t *threads = arg;
    for (int i = 0; !done; i++) {
        pthread_kill(threads[i % THREADS], SIGUSR1);
        usleep(50);
    }
    return NULL;
}

/* Registration by hand: done, refused because there is one, or not there at all. */
static void by_hand(void)
{
    static struct rseq area __attribute__((aligned(32)));
    long result = syscall(SYS_rseq, &area, 32, 0, 0x53053053);
    CHECK(result == 0 || errno == ENOSYS || errno == EBUSY || errno == EINVAL || errno == EPERM);
    if (result == 0)
        CHECK_IS(syscall(SYS_rseq, &area, 32, 1, 0x53053053), 0);
}

int main(void)
{
    pthread_t thread[THREADS], interrupter;
    long total = 0;
    watchdog(WATCHDOG_SECONDS);
    signal(SIGUSR1, on_signal);
    for (long i = 0; i < THREADS; i++)
        must(!pthread_create(&thread[i], NULL, work, (void *)i), "create a thread");
    must(!pthread_create(&interrupter, NULL, interrupt, thread), "create a thread");
    for (int i = 0; i < THREADS; i++) {
        void *result;
        /* Joined only when nobody sends to it any more. */
        if (i == THREADS - 1) {
            for (int k = 0; k < THREADS; k++)
                while (pthread_tryjoin_np(thread[k], &result) == EBUSY)
                    usleep(100);
        }
    }
    done = true;
    pthread_join(interrupter, NULL);
    for (int i = 0; i < CPUS; i++)
        total += counters[i].value;
    CHECK_IS(total + atomic_total, THREADS * COUNTS);
    by_hand();
    return verdict();
}
