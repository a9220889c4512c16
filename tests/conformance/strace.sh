#!/bin/sh
# SPDX-License-Identifier: MIT
# strace as the traced program: it follows forks, threads and an execve with ptrace, injects errors, and attaches.
# small
# needs: strace gcc
# untraced: only one may trace a task

cat >busy.c <<'C'
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void on(int s) { (void)s; (void)!write(1, "signal\n", 7); }
static void *thread(void *arg) { (void)!write(1, "thread\n", 7); return arg; }

int main(void)
{
    int p[2];
    char b[8];
    pthread_t t;
    signal(SIGUSR1, on);
    kill(getpid(), SIGUSR1);
    (void)!pipe(p);
    if (!fork()) {
        (void)!write(p[1], "child", 5);
        execl("/bin/echo", "echo", "after exec", NULL);
    }
    (void)!read(p[0], b, 5);
    wait(NULL);
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    if (mkdir("made", 0700))
        printf("mkdir: %s\n", strerror(errno));
    return 3;
}
C
gcc -O2 -pthread -o busy busy.c || exit 1
tidy() { sed -E -e 's/^\[pid +[0-9]+\] //' -e 's/^[0-9]+ +//' -e 's/pid=[0-9]+/pid=N/' -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/\b[0-9]{2,}\b/N/g'; }
$GAIT strace -f -qq -e trace=write,mkdir,execve,pipe2 -e signal=SIGUSR1 -o log ./busy
echo "status $?"
tidy <log | sort
$GAIT strace -f -qq -e trace=mkdir -e inject=mkdir:error=ENOSPC -o log ./busy
echo "status $?"
grep -c INJECTED log
$GAIT strace -f -c -S name -U name,calls -e trace=write,mkdir,execve,pipe2,clone,clone3 -o log ./busy >/dev/null
grep -v -- -- log
$GAIT strace -ff -qq -o each sh -c 'echo a | cat; (exit 2)' && echo unreachable
echo "status $?, $(ls each.* | wc -l) processes"
$GAIT strace --seccomp-bpf -f -qq -e trace=write -e signal=none -o log sh -c 'echo filtered; sh -c "echo again"'
tidy <log
$GAIT strace -qq -e trace=none -o /dev/null sh -c 'kill -TERM $$'
echo "status $?"
# Attach to what runs already, and let go of it again. The tracer is found through its victim: $! may be gait.
tracer() { sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$loop/status"; }
sh -c 'while :; do sleep 0.05; done' & loop=$!
$GAIT strace -p $loop -o attached -e trace=wait4 2>/dev/null & strace=$!
until [ -s attached ]; do sleep 0.05; done
kill -INT "$(tracer)"
wait $strace
echo "strace $?, tracer $(tracer)"
kill $loop
wait $loop
echo "loop $?"
