/* SPDX-License-Identifier: MIT */
/* Copies of many bytes by one instruction, called by different functions with more to do right behind: a reader sees such a copy in many pieces. */
enum { MOST = 60000 };
static char from[MOST], to[MOST], elsewhere[1 << 20];

#define TOUCH(n) elsewhere[at = (at + (n)) % sizeof elsewhere]++

static unsigned at;

static __attribute__((noinline)) void behind(void)
{
    TOUCH(4160);
    TOUCH(8256);
}

static __attribute__((noinline)) void copies(unsigned long n)
{
    void *d = to;
    const void *s = from;
    TOUCH(64);
    TOUCH(12352);
    TOUCH(64);
    TOUCH(20544);
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
    behind();
    TOUCH(320);
}

static __attribute__((noinline)) void before(unsigned long n)
{
    TOUCH(128);
    copies(n);
    TOUCH(4160);
}

int main(void)
{
    for (unsigned i = 0; i < 24; i++)
        before(i % 3 ? 100 * i : MOST - 17 * i);
    return 0;
}
