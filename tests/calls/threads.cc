// SPDX-License-Identifier: MIT
// Threads that call, throw, jump and are interrupted, each at its own pace; a child made by fork from deep below, one made by vfork.
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <semaphore.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#define OWN extern "C" __attribute__((noinline, noclone))

static sem_t arrived;
static volatile int handled;

OWN long add_up(long n)
{
    volatile long sum = 0;
    for (long i = 0; i < n; i++)
        sum = sum + i;
    return sum;
}

OWN long descend(long n, jmp_buf *to)
{
    if (n == 0 && to)
        longjmp(*to, 1);
    if (n == 0)
        throw std::runtime_error("end");
    return descend(n - 1, to) + add_up(n);
}

OWN void on_signal(int)
{
    handled = handled + (int)add_up(3);
}

OWN void wait_for_signal()
{
    sem_post(&arrived);
    while (!handled)
        usleep(1000);
}

OWN void *thread_main(void *number)
{
    long n = (long)number;
    jmp_buf place;
    for (volatile long i = 0; i < 3; i++) {
        add_up(n + i);
        if (setjmp(place) == 0)
            descend(n, &place);
        try {
            descend(n + 1, nullptr);
        } catch (const std::exception &) {
            add_up(2);
        }
    }
    if (n == 0)
        wait_for_signal();
    return nullptr;
}

OWN void returns_twice(long n)
{
    char room[100];
    snprintf(room, sizeof room, "%ld", n);
    if (n) {
        returns_twice(n - 1);
    } else if (fork() == 0) {
        add_up(5);
    } else {
        wait(nullptr);
        add_up(6);
    }
    add_up(room[0]);
}

OWN void borrows_memory()
{
    if (vfork() == 0) {
        add_up(7);
        _exit(0);
    }
    wait(nullptr);
}

int main()
{
    pthread_t threads[4];
    signal(SIGUSR1, on_signal);
    for (long i = 0; i < 4; i++)
        pthread_create(&threads[i], nullptr, thread_main, (void *)i);
    sem_wait(&arrived);
    pthread_kill(threads[0], SIGUSR1);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], nullptr);
    returns_twice(4);
    borrows_memory();
    return 0;
}
