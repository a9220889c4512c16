/* SPDX-License-Identifier: MIT */
/* A log of what is where, and from when on: each entry is followed by a store to `mark`, which can be found in a trace. */
#include <stdio.h>
#include <string.h>

struct entry {
    const char *what, *name; /* + or -; what a person would call it, or the function that a block is from */
    unsigned long start, size, stride, count, line;
};

static struct entry log_of[400];
static int n_log;
static volatile int mark;

__attribute__((noinline)) static void tell(const char *what, const char *name, const volatile void *start, unsigned long size, unsigned long stride, unsigned long count, unsigned long line)
{
    log_of[n_log++] = (struct entry){what, name, (unsigned long)start, size, stride, count, line};
    mark = n_log;
}

/* A variable; a member of each element of an array; a local variable, as long as its function runs; a heap block or a mapping. */
#define VARIABLE(x) tell("static", #x, &(x), sizeof(x), 0, 1, 0)
#define NAMED(name, x) tell("static", name, &(x), sizeof(x), 0, 1, 0)
#define EACH(name, array, member) tell("static", name, &(array)[0] member, sizeof((array)[0] member), sizeof((array)[0]), sizeof(array) / sizeof((array)[0]), 0)
#define LOCAL(name, x) tell("local", name, &(x), sizeof(x), 0, 1, 0)
#define BLOCK(p, size, function, line) tell("heap", function, p, size, 0, 1, line)
#define MAPPING(p, size, function, line) tell("mapping", function, p, size, 0, 1, line)
#define GONE(p) tell("gone", "", p, 0, 0, 0, 0)

static void tell_all(void)
{
    printf("mark %lx\n", (unsigned long)&mark);
    for (int i = 0; i < n_log; i++)
        printf("%s %s %lx %lu %lu %lu %lu\n", log_of[i].what, log_of[i].name[0] ? log_of[i].name : "-", log_of[i].start, log_of[i].size, log_of[i].stride, log_of[i].count, log_of[i].line);
}

__attribute__((noinline)) static void touch(volatile void *p, unsigned long size)
{
    for (unsigned long i = 0; i < size; i += 16)
        ((volatile char *)p)[i] = (char)i;
}
