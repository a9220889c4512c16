// SPDX-License-Identifier: MIT
// Code that is reached late, behind branches of code that has run often by then; and code that is replaced by other code.
#include <string.h>
#include <sys/mman.h>

static volatile unsigned sink;
#define OWN __attribute__((noinline))

OWN void rarely(unsigned i)
{
    if (i & 1)
        sink += 3;
    else
        sink ^= i;
}

// A few branches in a row, each of which goes another way for the first time in another round.
OWN void branches(unsigned i)
{
    if (i > 1000)
        sink += 1;
    if (i == 1500)
        rarely(i);
    if (i > 2000)
        sink += 2;
    if (i % 512 == 511)
        rarely(i);
    if (i == 2999)
        sink *= 3;
}

OWN void cases(unsigned i)
{
    switch (i > 2500 ? i % 8 : i % 4) {
    case 0: sink += 5; break;
    case 1: sink -= 7; break;
    case 2: sink ^= 9; break;
    case 3: sink += 11; break;
    case 4: sink -= 13; break;
    case 5: sink ^= 15; break;
    case 6: sink += 17; break;
    default: sink -= 19;
    }
}

OWN unsigned deep(unsigned n)
{
    if (n > 30)
        sink += n;
    return n ? deep(n - 1) + sink : 0;
}

OWN void copies(unsigned n)
{
    static char from[256], to[256];
    unsigned long count = n;
    void *s = from, *d = to;
    __asm__ volatile("rep movsb" : "+c"(count), "+S"(s), "+D"(d) : : "memory");
}

// A loop of one unit, onto itself.
OWN void spins(unsigned n)
{
    __asm__ volatile("1: dec %0\n jnz 1b" : "+r"(n) : : "cc");
}

int main(void)
{
    // mov eax, 1 ; ret and xor eax, eax ; inc eax ; nop ; ret
    static const unsigned char one[] = {0xb8, 1, 0, 0, 0, 0xc3}, other[] = {0x31, 0xc0, 0xff, 0xc0, 0x90, 0xc3};
    unsigned char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < 3000; i++) {
        branches(i);
        cases(i);
        if (i % 100 == 0) {
            deep(i / 60);
            copies(i % 256);
            spins(i + 1);
        }
        if (i == 0 || i == 600 || i == 1800)
            memcpy(code, i == 600 ? other : one, sizeof one);
        if (i % 7 == 0)
            sink += ((unsigned (*)(void))code)();
    }
    return 0;
}
