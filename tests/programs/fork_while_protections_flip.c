/* SPDX-License-Identifier: MIT */
/* Threads change protections and contents of code without rest while another forks: each child has one consistent copy,
 * can run what is runnable in it and change it, and parent and children do not see each other's changes. */
#include "check.h"
#include <pthread.h>

enum { FLIPPERS = 2, CHILDREN = 40 };

static unsigned char *pages[FLIPPERS], *common;
static volatile bool done;
static volatile long flips[FLIPPERS];

static void *flip(void *arg)
{
    long id = (long)arg;
    unsigned char *page = pages[id];
    while (!done) {
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        put_return(page, (int)flips[id]);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        CHECK_IS(call_code(page), flips[id]);
        flips[id]++;
        usleep(20);
    }
    return NULL;
}

static void in_child(int i)
{
    /* The flippers are not here: their pages are as they were, in the middle of anything. */
    CHECK_IS(call_code(common), 1000);
    for (int id = 0; id < FLIPPERS; id++) {
        CHECK(!mprotect(pages[id], PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
        put_return(pages[id], 500 + i);
        CHECK_IS(call_code(pages[id]), 500 + i);
    }
    put_return(common, i);
    CHECK_IS(call_code(common), i);
    usleep(200);
    CHECK_IS(call_code(common), i);
    _exit(check_failures ? 1 : 0);
}

int main(void)
{
    pthread_t thread[FLIPPERS];
    pid_t pid[CHILDREN];
    watchdog(WATCHDOG_SECONDS);
    common = map(PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    put_return(common, 1000);
    for (long i = 0; i < FLIPPERS; i++) {
        pages[i] = map(PAGE, PROT_READ | PROT_WRITE);
        must(!pthread_create(&thread[i], NULL, flip, (void *)i), "create a thread");
    }
    for (int i = 0; i < CHILDREN; i++) {
        CHECK_IS(call_code(common), 1000);
        pid[i] = fork_watched();
        if (!pid[i])
            in_child(i);
        CHECK_IS(call_code(common), 1000);
        if (i % 4 == 3) /* a few alive at once */
            for (int k = i - 3; k <= i; k++)
                CHECK_IS(status_of(pid[k]), 0);
    }
    while (flips[0] < 10 || flips[1] < 10)
        usleep(100);
    done = true;
    for (int i = 0; i < FLIPPERS; i++)
        pthread_join(thread[i], NULL);
    return verdict();
}
