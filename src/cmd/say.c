/* SPDX-License-Identifier: MIT */
/* How commands speak, end, and read their options. */
#include "cmd/cmd.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Speaking -------------------------------------------------------------------------------- */

static void say(const char *fmt, va_list ap)
{
    fputs("gait: ", stderr);
    vfprintf(stderr, fmt, ap);
}

void warn(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}

void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

void die_usage(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(fmt, ap);
    va_end(ap);
    fputs("; see gait --help\n", stderr);
    exit(2);
}

void report_trouble(const struct trace *t)
{
    if (t->summary.lost_buffers)
        warn(
            "%s has gaps: %lu buffers were lost while it was recorded; record with a larger buffer",
            t->store.path, (unsigned long)t->summary.lost_buffers);
    if (t->damaged)
        die("%s", t->trouble.text);
    if (!t->complete)
        warn("%s", t->trouble.text);
    else if (t->summary.ending == TRACE_ENDED_unknown)
        warn("%s: the recording was interrupted, and its file repaired: the end is missing", t->store.path);
}

void write_all(int fd, const char *where, const void *p, size_t n)
{
    for (const char *at = p; n;) {
        ssize_t k = write(fd, at, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            die("cannot write to %s: %s", where, strerror(errno));
        at += k;
        n -= (size_t)k;
    }
}

void stdout_flush(void)
{
    if (fflush(stdout) || ferror(stdout))
        die("cannot write to standard output: %s", strerror(errno));
}

/* -- Options --------------------------------------------------------------------------------- */

int next_option(int argc, char **argv, const char *shorts, const struct option *longs)
{
    opterr = 0;
    int c = getopt_long(argc, argv, shorts, longs, NULL);
    if (c != '?' && c != ':')
        return c;
    const char *word = argv[optind - 1];
    if (strncmp(word, "--", 2) == 0)
        die_usage("%s: the option %s is unknown or has a wrong argument", argv[0], word);
    die_usage("%s: the option -%c is unknown or lacks its argument", argv[0], optopt);
}

const char *only_argument(int argc, char **argv, const char *what)
{
    if (optind == argc)
        die_usage("%s: no %s was given", argv[0], what);
    if (optind + 1 < argc)
        die_usage("%s: one %s is enough, and %s is one more", argv[0], what, argv[optind + 1]);
    return argv[optind];
}

u64 option_number(const char *command, const char *option, const char *what, const char *s)
{
    char *end;
    errno = 0;
    u64 n = strtoull(s, &end, 10);
    if (errno || *end || s[0] < '0' || s[0] > '9')
        die_usage("%s: --%s wants %s, not %s", command, option, what, s);
    return n;
}

double option_seconds(const char *command, const char *option, const char *s)
{
    char *end;
    double x = strtod(s, &end);
    bool is_plain = end != s && (!*end || !strcmp(end, "s")), is_ms = end != s && !strcmp(end, "ms");
    if ((!is_plain && !is_ms) || !(x > 0) || x > 1e9)
        die_usage("%s: --%s wants a time, such as 2s or 50ms, not %s", command, option, s);
    return is_ms ? x / 1000 : x;
}

u32 option_word(const char *option, const char *given, const char *const *words, u32 n)
{
    char list[128] = "";
    for (u32 i = 0; i < n; i++) {
        if (!strcmp(given, words[i]))
            return i;
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", words[i]);
    }
    die_usage("--%s=%s is not one of %s", option, given, list);
}
