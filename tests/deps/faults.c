/* SPDX-License-Identifier: MIT */
/* Strings that fault in their middle, again and again: a page is opened when they come to it. */
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 4 };
static unsigned char *area;

static void on_fault(int sig, siginfo_t *info, void *context)
{
    (void)sig, (void)context;
    uintptr_t at = (uintptr_t)info->si_addr / PAGE * PAGE;
    mprotect((void *)at, PAGE, PROT_READ | PROT_WRITE);
}

int main(void)
{
    unsigned char text[PAGES * PAGE];
    struct sigaction act = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &act, NULL);
    area = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(text, 7, sizeof text);
    for (int i = 0; i < 4; i++) {
        unsigned char *to = area + 13 * i, *from = text + i;
        size_t n = (PAGES - 1) * PAGE;
        mprotect(area, PAGES * PAGE, PROT_NONE);
        __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
        mprotect(area, PAGES * PAGE, PROT_NONE);
        to = text + i, from = area + i, n = 2 * PAGE / 8;
        __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    }
    return 0;
}
