/* SPDX-License-Identifier: MIT */
/* Forty images in one process, some begun by a second thread; arguments, environment and pid stay. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* environ */
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static char **args;
static char number[16], first[16];

static void *next(void *arg)
{
    char *const argv[] = {args[0], number, first, "", NULL};
    if (atoi(number) % 3)
        execv("/proc/self/exe", argv);
    else /* through a descriptor */
        syscall(SYS_execveat, (long)arg, "", argv, environ, 0x1000);
    perror("exec");
    exit(1);
}

static void *busy(void *arg)
{
    for (volatile unsigned long n = 0;; n++)
        ;
    return arg;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t t;
    if (argc > 1 && (argc != 4 || argv[3][0] || atoi(argv[2]) != getpid()))
        return 2;
    if (n == 40) {
        printf("forty images, and still %s\n", getenv("GAIT_EXEC_TEST"));
        return 7;
    }
    args = argv;
    setenv("GAIT_EXEC_TEST", "the same", 1);
    snprintf(number, sizeof number, "%d", n + 1);
    snprintf(first, sizeof first, "%d", getpid());
    FILE *f = fopen("/proc/self/exe", "re");
    long fd = fileno(f);
    if (n % 10 == 4)
        pthread_create(&t, NULL, busy, NULL);
    if (n % 10 == 7) {
        pthread_create(&t, NULL, next, (void *)fd);
        pause();
    }
    next((void *)fd);
}
