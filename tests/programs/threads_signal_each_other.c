/* SPDX-License-Identifier: MIT */
/* Two dozen threads create, signal and join each other without order: every signal sent to a thread reaches that thread,
 * once, with its value, and every thread returns what it should.
 *
 *   [SECONDS]     default 0.5 */
/* long: 60 */
#include "check.h"
#include <pthread.h>

enum { SLOTS = 24 };

/* A place for one thread at a time. The lock guards state, thread and sent. */
static struct slot {
    pthread_mutex_t lock;
    enum { EMPTY, ALIVE, CLOSED } state;
    pthread_t thread;
    long serial, sent, sent_sum;
    volatile long received, received_sum;
} slots[SLOTS];

static __thread struct slot *own;
static volatile bool done;
static volatile long total_sent, total_received, threads_made, next_serial;

static void on_signal(int sig, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    CHECK_IS(sig, SIGRTMIN + 3);
    CHECK_IS(info->si_code, SI_QUEUE);
    CHECK_IS(info->si_pid, getpid());
    CHECK(is_own_text(uc->uc_mcontext.gregs[REG_RIP]));
    own->received++;
    own->received_sum += info->si_value.sival_int;
}

static void *live(void *arg);

static void try_create(struct slot *s)
{
    if (pthread_mutex_trylock(&s->lock))
        return;
    if (s->state == EMPTY && !done) {
        s->serial = __sync_add_and_fetch(&next_serial, 1);
        s->sent = s->sent_sum = s->received = s->received_sum = 0;
        block(SIGRTMIN + 3); /* for the new one, until it knows its slot */
        int error = pthread_create(&s->thread, NULL, live, s);
        if (own)
            unblock(SIGRTMIN + 3);
        if (!error) {
            s->state = ALIVE;
            __sync_fetch_and_add(&threads_made, 1);
        } else {
            fail("cannot create a thread\n");
        }
    }
    pthread_mutex_unlock(&s->lock);
}

static void try_signal(struct slot *s, int value)
{
    if (pthread_mutex_trylock(&s->lock))
        return;
    if (s->state == ALIVE) {
        if (!pthread_sigqueue(s->thread, SIGRTMIN + 3, (union sigval){.sival_int = value})) {
            s->sent++;
            s->sent_sum += value;
            __sync_fetch_and_add(&total_sent, 1);
        }
    }
    pthread_mutex_unlock(&s->lock);
}

/* Take what a thread returned; its slot is free again. */
static void join(struct slot *s)
{
    void *result;
    CHECK_IS(pthread_join(s->thread, &result), 0);
    CHECK_IS((long)result, s->serial);
    CHECK_IS(s->received, s->sent);
    CHECK_IS(s->received_sum, s->sent_sum);
    __sync_fetch_and_add(&total_received, s->received);
    s->state = EMPTY;
}

static void try_join(struct slot *s)
{
    if (s == own || pthread_mutex_trylock(&s->lock))
        return;
    if (s->state == CLOSED)
        join(s);
    pthread_mutex_unlock(&s->lock);
}

/* Something to be interrupted in; the answer is known. */
static long compute(uint32_t seed)
{
    long sum = 0;
    double x = seed % 100 + 1;
    for (int i = 0; i < 200; i++) {
        sum += next_random(&seed) & 7;
        x = x / 2 + 1;
    }
    return sum * 1000 + (long)(x * 100 + 0.5);
}

static void *live(void *arg)
{
    struct slot *s = arg;
    own = s;
    uint32_t random = (uint32_t)s->serial * 2654435761u | 1;
    long wanted = compute(random), lives = 5 + next_random(&random) % 30;
    uint32_t seed = (uint32_t)s->serial * 2654435761u | 1;
    unblock(SIGRTMIN + 3);
    while (!done && lives-- > 0) {
        struct slot *other = &slots[next_random(&random) % SLOTS];
        switch (next_random(&random) % 8) {
        case 0:
        case 1:
            try_create(other);
            break;
        case 2:
            try_join(other);
            break;
        case 3:
            usleep(next_random(&random) % 1000);
            break;
        default:
            try_signal(other, (int)(next_random(&random) % 1000));
        }
        CHECK_IS(compute(seed), wanted);
    }
    /* Nobody sends from here on; what was sent must come. */
    pthread_mutex_lock(&s->lock);
    long sent = s->sent;
    s->state = CLOSED;
    pthread_mutex_unlock(&s->lock);
    while (s->received < sent)
        sched_yield();
    return (void *)s->serial;
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 0.5;
    struct timespec now, end;
    watchdog(WATCHDOG_SECONDS + (int)(2 * seconds));
    note_text();
    handle(SIGRTMIN + 3, on_signal, SA_RESTART);
    block(SIGRTMIN + 3);
    for (int i = 0; i < SLOTS; i++)
        pthread_mutex_init(&slots[i].lock, NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += (time_t)seconds;
    end.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    do { /* somebody must see to it that not all die */
        for (int i = 0; i < SLOTS; i++) {
            try_create(&slots[i]);
            try_join(&slots[i]);
        }
        usleep(2000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    done = true;
    for (int i = 0; i < SLOTS; i++) {
        struct slot *s = &slots[i];
        pthread_mutex_lock(&s->lock);
        bool exists = s->state != EMPTY;
        pthread_mutex_unlock(&s->lock);
        while (exists && s->state != CLOSED)
            usleep(100);
        if (exists)
            join(s);
    }
    CHECK_IS(total_received, total_sent);
    CHECK(threads_made >= SLOTS && total_sent > 0);
    return verdict();
}
