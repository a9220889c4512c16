// SPDX-License-Identifier: MIT
// Marks, in a loop that becomes hot; recording begins and ends several times; a thread runs meanwhile.
#include <gait_mark.h>
#include <pthread.h>

static volatile int sink, over;

__attribute__((noinline)) void wanted(int n)
{
    for (int i = 0; i < n; i++) {
        sink += i;
        gait_mark(7);
    }
}

__attribute__((noinline)) void unwanted(int n)
{
    for (int i = 0; i < n; i++) {
        sink -= i;
        gait_mark(9);
    }
}

static void *run(void *nothing)
{
    while (!over)
        sink++;
    return nothing;
}

int main(void)
{
    pthread_t t;
    pthread_create(&t, 0, run, 0);
    for (int i = 0; i < 50; i++) {
        unwanted(200);
        gait_start();
        wanted(100);
        gait_stop();
    }
    over = 1;
    pthread_join(t, 0);
    return 0;
}
