/* SPDX-License-Identifier: MIT */
/* Code made at run time, in a page that stays writable, in one that is toggled, and on the stack; deterministic, so that the
 * judge can step it. The lists of events must be equal, instruction for instruction. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096 };
typedef int function(void);

/* mov eax, n; ret */
static void write_function(unsigned char *at, int n)
{
    unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &n, 4);
    memcpy(at, code, sizeof code);
}

static int call(void *at)
{
    return ((function *)at)();
}

/* The immediate of the next instruction is written in every turn of the loop. */
static const unsigned char changes_itself[] = {
    0xb9, 100,  0,    0, 0,    /* mov ecx, 100 */
    0x31, 0xd2,                /* xor edx, edx */
    0x88, 0x0d, 1,    0, 0, 0, /* mov [rip + 1], cl */
    0xb8, 0,    0,    0, 0,    /* mov eax, 0: its low byte is cl */
    0x01, 0xc2,                /* add edx, eax */
    0xff, 0xc9,                /* dec ecx */
    0x75, 0xef,                /* jnz to the store */
    0x89, 0xd0, 0xc3,          /* mov eax, edx; ret */
};

static int through_trampoline(int (*f)(int (*)(int)), int add)
{
    int plus(int n)
    {
        return n + add;
    }
    return f(plus);
}

static int seven(int (*f)(int))
{
    return f(7);
}

int main(void)
{
    unsigned char *page =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
    for (int i = 0; i < 100; i++) {
        write_function(page, i);
        sum += call(page) + call(page);
    }
    printf("rewritten %ld\n", sum);
    memcpy(page + 64, changes_itself, sizeof changes_itself);
    printf("by itself %d %d\n", call(page + 64), call(page + 64));
    for (int i = 0; i < 20; i++) {
        mprotect(page, PAGE, PROT_READ | PROT_WRITE);
        write_function(page, 1000 + i);
        mprotect(page, PAGE, PROT_READ | PROT_EXEC);
        sum += call(page) + call(page);
    }
    printf("toggled %ld\n", sum);
    for (int i = 0; i < 20; i++)
        sum += through_trampoline(seven, i);
    printf("on the stack %ld\n", sum);
    return 0;
}
