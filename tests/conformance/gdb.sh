#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb as the traced program: it starts a program under ptrace, sets breakpoints, steps, watches, and catches its signals.
# needs: gdb gcc
# untraced: only one may trace a task

cat >debuggee.c <<'C'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct node { int value; struct node *next; };
static volatile int watched;
static void on_usr1(int s) { watched = s * 100; }

static int factorial(int n)
{
    if (n < 2)
        return 1;
    return n * factorial(n - 1);
}

static void *thread(void *arg)
{
    return (void *)((long)arg * 2);
}

int main(int argc, char **argv)
{
    struct node third = {3, NULL}, second = {2, &third}, first = {1, &second};
    signal(SIGUSR1, on_usr1);
    int f = factorial(5);
    watched = f;
    watched++;
    raise(SIGUSR1);
    pthread_t t;
    void *r;
    pthread_create(&t, NULL, thread, (void *)21);
    pthread_join(t, &r);
    if (!fork())
        _exit(4);
    int status;
    wait(&status);
    printf("%d %ld %d %d\n", f, (long)r, WEXITSTATUS(status), first.next->next->value);
    if (argc > 1)
        *(volatile int *)8 = 1;
    return 0;
}
C
gcc -g -O0 -no-pie -pthread -o debuggee debuggee.c || exit 1
cat >commands <<'GDB'
set pagination off
set width 0
set confirm off
set print thread-events off
set print inferior-events off
break factorial if n == 3
run
backtrace 2
info args
print n * 100
finish
delete
break thread
tbreak debuggee.c:30
continue
watch watched
continue
continue
continue
handle SIGUSR1 nostop print pass
continue
delete 4
continue
print/d (long)arg
python print(len(gdb.selected_inferior().threads()), "threads")
delete
continue
GDB
# Addresses of libraries and process ids differ from run to run.
tidy() { sed -E -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/\(LWP [0-9]+\)/(LWP N)/' -e 's/process [0-9]+/process N/' -e '/libthread_db|debuginfod|^warning|^gait: .* ran untraced|^$/d' -e 's/Thread ADDRESS/Thread/'; }
$GAIT gdb -nx -batch -x commands ./debuggee 2>&1 | tidy
echo "-- a fault, a core"
$GAIT gdb -nx -batch -ex 'set pagination off' -ex 'handle SIGUSR1 nostop' -ex 'run x' -ex 'print $_siginfo.si_signo' -ex 'print $_siginfo._sifields._sigfault.si_addr' \
    -ex 'x/i $pc' -ex 'generate-core-file core.made' -ex kill ./debuggee 2>&1 | tidy | grep -v '^\[' | head -n 20
$GAIT gdb -nx -batch -ex bt ./debuggee core.made 2>&1 | tidy | tail -n 1
echo "-- attaching, and python inside gdb"
sleep 60 & victim=$!
$GAIT gdb -nx -batch -p $victim -ex 'python print(gdb.selected_inferior().pid == '$victim')' -ex 'call (int)getppid() == '$$ -ex detach 2>&1 | grep -E '^(True|False|\$1)'
kill $victim
wait $victim
echo "sleep $?"
$GAIT gdb -nx -batch -ex 'break main' -ex run -ex 'stepi 5' -ex 'next 3' -ex 'info registers rsp' -ex 'disassemble /r factorial,+8' \
    -ex 'handle SIGUSR1 nostop' -ex 'catch fork' -ex continue -ex 'set follow-fork-mode child' -ex continue ./debuggee 2>&1 | tidy | grep -v '^\['
