/* SPDX-License-Identifier: MIT */
/* A program that asks for events itself.
 *
 *     ask open FILE TRACE                write the events to FILE, as gait dump does
 *     ask start FILE PROGRAM [ARG]..     the same of a program, and its status
 *     ask leave N PROGRAM [ARG]..        look at N batches, then let it go on; its status
 *     ask wait N PROGRAM [ARG]..         look at N batches, then do nothing
 *     ask name FUNCTION PROGRAM [ARG]..  how many different instructions of it were seen, in process 0
 *     ask find TRACE PC                  where is that, in process 0? */
#include "lines.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int no(const char *why)
{
    printf("no: %s\n", why);
    return 1;
}

static int write_events(struct gait *g, const char *path)
{
    FILE *f = fopen(path, "w");
    struct gait_batch b;
    int more;
    HOLDS(f);
    while ((more = gait_next(g, &b)) > 0)
        put_batch(f, &b);
    fclose(f);
    HOLDS(gait_next(g, &b) == more); /* and so on */
    return more;
}

static void say_status(int status)
{
    if (status == -1)
        puts("unknown");
    else if (WIFSIGNALED(status))
        printf("signal %d\n", WTERMSIG(status));
    else
        printf("status %d\n", WEXITSTATUS(status));
}

static int all(struct gait *g, const char *path)
{
    if (write_events(g, path) < 0) {
        no(gait_trouble(g));
        gait_close(g);
        return 1;
    }
    say_status(gait_close(g));
    return 0;
}

static int some(struct gait *g, int n, int stays)
{
    struct gait_batch b;
    while (n-- && gait_next(g, &b) > 0)
        check_batch(&b);
    puts("seen");
    fflush(stdout);
    while (stays)
        pause();
    say_status(gait_close(g));
    return 0;
}

/* What the last batch showed of the code is there until gait_close. */
static int name(struct gait *g, const char *function)
{
    struct gait_batch b, last = {0};
    unsigned n = 0;
    while (gait_next(g, &b) > 0) {
        last = b.process == 0 ? b : last;
        HOLDS(!gait_find(g, 0, b.insns[0].pc).module);
    }
    for (uint32_t i = 0; i < last.n_insns; i++) {
        struct gait_place p = gait_find(g, 0, last.insns[i].pc);
        n += p.function && !strcmp(p.function, function);
    }
    printf("%u instructions\n", n);
    say_status(gait_close(g));
    return 0;
}

static const char *or_not(const char *s)
{
    return s ? s : "-";
}

static int find(struct gait *g, const char *pc)
{
    struct gait_place p = gait_find(g, 0, strtoull(pc, NULL, 16));
    printf("%s %s %s %u %lx\n", or_not(p.module), or_not(p.function), or_not(p.file), p.line,
           (unsigned long)p.offset);
    return gait_close(g);
}

int main(int argc, char **argv)
{
    char why[512];
    HOLDS(argc >= 4);
    int opens = !strcmp(argv[1], "open"), finds = !strcmp(argv[1], "find");
    struct gait *g = opens   ? gait_open(argv[3], why, sizeof why)
                     : finds ? gait_open(argv[2], why, sizeof why)
                             : gait_start(argv + 3, why, sizeof why);
    if (!g)
        return no(why);
    if (finds)
        return find(g, argv[3]);
    if (opens || !strcmp(argv[1], "start"))
        return all(g, argv[2]);
    if (!strcmp(argv[1], "name"))
        return name(g, argv[2]);
    return some(g, atoi(argv[2]), !strcmp(argv[1], "wait"));
}
