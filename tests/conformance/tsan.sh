#!/bin/sh
# SPDX-License-Identifier: MIT
# ThreadSanitizer builds: shadow memory over most of the address space, every signal and atomic intercepted, races reported.
# needs: gcc setarch

cat >work.c <<'C'
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static long counter, racy;
static atomic_long fine;
static atomic_int ticks;
static void tick(int s) { (void)s; ticks++; }

static void *locked(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        counter += (long)arg;
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&fine, 1);
    }
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&lock);
    pthread_cond_signal(&cond);
    pthread_mutex_unlock(&lock);
    return arg;
}
static void *race(void *arg) { racy++; pthread_barrier_wait(&barrier); return arg; }
static void *reverse(void *arg)
{
    pthread_mutex_t *a = arg ? &lock : &other, *b = arg ? &other : &lock;
    pthread_mutex_lock(a);
    pthread_mutex_lock(b);
    pthread_mutex_unlock(b);
    pthread_mutex_unlock(a);
    atomic_fetch_add(&fine, 1);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[4];
    (void)argc;
    switch (argv[1][0]) {
    case 'f': { /* nothing is wrong, while a timer interrupts */
        struct itimerval often = {{0, 2000}, {0, 2000}}, off = {{0}};
        signal(SIGALRM, tick);
        setitimer(ITIMER_REAL, &often, NULL);
        pthread_barrier_init(&barrier, NULL, 4);
        for (long k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, locked, (void *)k);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], NULL);
        while (ticks < 5)
            usleep(1000);
        setitimer(ITIMER_REAL, &off, NULL);
        int status = -1;
        pid_t child = fork();
        if (!child)
            _exit(17);
        waitpid(child, &status, 0);
        printf("counter %ld, atomic %ld, child %d\n", counter, fine, WEXITSTATUS(status));
        break;
    }
    case 'r':
        pthread_barrier_init(&barrier, NULL, 2);
        for (int k = 0; k < 2; k++)
            pthread_create(&t[k], NULL, race, NULL);
        for (int k = 0; k < 2; k++)
            pthread_join(t[k], NULL);
        break;
    case 'd':
        for (long k = 0; k < 2; k++) {
            pthread_create(&t[k], NULL, reverse, (void *)k);
            pthread_join(t[k], NULL);
        }
        break;
    case 'l':
        pthread_create(&t[0], NULL, reverse, NULL);
        while (!fine)
            usleep(1000);
        usleep(300000);
        break;
    case 's': *(volatile int *)16 = 1;
    }
    return 0;
}
C
gcc -g -O1 -fsanitize=thread -pthread -o work work.c || exit 1
# The runtime sometimes blames the timer's handler for errno.
export TSAN_OPTIONS=report_signal_unsafe=0
for what in fine race deadlock leak segv; do
    echo "-- $what"
    # Kernels with much randomisation move mappings into the shadow; this runtime is too old to cope by itself.
    setarch -R $GAIT ./work $what 2>err
    echo "status $?"
    sed -n -E -e 's/^==[0-9]+== ?//' -e '/WARNING|SUMMARY|ERROR/{s/ \(pid=.*//; s/ 0x.*//; s/ [^ ]*\/([^\/]*:[0-9]+)/ \1/; p}' err
    grep -o -E '^    #0 (race|reverse|main)' err | sort -u
done
