/* SPDX-License-Identifier: MIT */
/* Loads, strings and branches among which a page is closed: the handler opens it, and what faulted goes on. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, ROUNDS = 40, WARM = 60 };

static unsigned char *pages;
static volatile int third;

static void on_fault(int sig)
{
    (void)sig;
    mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE);
}

/* Branches, taken and not, before the load that faults. */
__attribute__((noinline)) static int walk(const unsigned char *p, int n)
{
    int odd = 0;
    for (int i = 0; i < n; i++) {
        if (i % 3 == 0)
            third++;
        if (p[i] & 1)
            odd += 2;
    }
    return odd;
}

static void copy(unsigned char *to, const unsigned char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

int main(void)
{
    int sum = 0;
    signal(SIGSEGV, on_fault);
    pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < WARM; i++) /* until its loop is a path of its own */
        sum += walk(pages, 60);
    for (int i = 0; i < ROUNDS; i++) {
        mprotect(pages + PAGE, PAGE, PROT_NONE);
        sum += walk(pages + PAGE - i, 60);
        mprotect(pages + PAGE, PAGE, PROT_NONE);
        copy(pages + PAGE - 10 - i, pages, 70);
    }
    printf("%d\n", sum);
    return 0;
}
