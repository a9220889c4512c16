#!/bin/sh
# SPDX-License-Identifier: MIT
# AddressSanitizer builds: shadow memory at fixed addresses, reports from fault handlers, leaks found by a thread that stops the others.
# needs: gcc

cat >work.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile leaked;
static sigjmp_buf back;
static void on_segv(int s) { siglongjmp(back, s); }
static void *churn(void *arg)
{
    unsigned n = (unsigned)(long)arg, sum = 0;
    char *keep[64] = {0};
    for (int i = 0; i < 20000; i++) {
        n = n * 1103515245 + 12345;
        char **k = &keep[n >> 16 & 63];
        free(*k);
        *k = malloc(n >> 20 & 1023 | 16);
        memset(*k, (int)n, 16);
        sum += (unsigned char)(*k)[n & 15];
    }
    for (int i = 0; i < 64; i++)
        free(keep[i]);
    return (void *)(long)sum;
}
static int overflow(int n) { volatile char b[512]; b[n % 512] = 1; return n ? overflow(n + 1) + b[0] : 0; }

int main(int argc, char **argv)
{
    volatile int i = atoi(argv[1]);
    volatile char *heap = malloc(100);
    char stack[10] = "";
    switch (i) {
    case 0: { /* nothing is wrong: threads, a fork, a handler of our own */
        pthread_t t[4];
        void *r;
        long sum = 0;
        for (long k = 0; k < 4; k++)
            pthread_create(&t[k], NULL, churn, (void *)k);
        for (int k = 0; k < 4; k++)
            pthread_join(t[k], &r), sum += (long)r;
        signal(SIGSEGV, on_segv);
        int s = sigsetjmp(back, 1);
        if (!s)
            *(volatile int *)16 = 1;
        pid_t child = fork();
        if (!child)
            exit((int)(long)churn((void *)9) % 50);
        int status;
        waitpid(child, &status, 0);
        printf("sum %ld, signal %d, child %d\n", sum, s, WEXITSTATUS(status));
        free((void *)heap);
        break;
    }
    case 1: heap[99 + i] = 1; break;
    case 2: free((void *)heap); return heap[i];
    case 3: return stack[8 + i];
    case 4: leaked = malloc(1000); leaked = NULL; free((void *)heap); break;
    case 5: free((void *)heap); free((void *)heap); break;
    case 6: *(volatile int *)32 = 1; break;
    case 7: return overflow(i);
    case 8: memcpy(stack, (void *)heap, (size_t)i * 4); break;
    }
    (void)argc;
    return 0;
}
C
gcc -g -O1 -w -fno-omit-frame-pointer -fsanitize=address -pthread -o work work.c || exit 1
export ASAN_OPTIONS=symbolize=1:print_legend=0:color=never
for i in 0 1 2 3 4 5 6 7 8; do
    echo "-- case $i"
    $GAIT ./work $i 2>err
    echo "status $?"
    # What it found, in which function, and its summary: without process ids and addresses.
    sed -n -E -e 's/^==[0-9]+== *//' -e 's/ (on|at|0x).*//' -e '/^(ERROR|SUMMARY|AddressSanitizer:|The signal|READ|WRITE|Direct leak)/p' err
    grep -E '^ +#[01] .* in (main|overflow|free|malloc)' err | sed -E 's/0x[0-9a-f]+ //; s/ \(.*//; s/ [^ ]*\/([^\/]*)$/ \1/'
done
# Undefined behaviour is reported and goes on.
cat >ub.c <<'C'
#include <limits.h>
#include <stdio.h>
int main(int argc, char **argv) { int x = INT_MAX, a[3] = {0}; x += argc; printf("%d %d\n", x, x << (argc + 31)); return a[argc - 1]; }
C
gcc -w -fsanitize=undefined -o ub ub.c && $GAIT ./ub 2>&1 | sort
