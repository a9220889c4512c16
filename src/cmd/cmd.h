/* SPDX-License-Identifier: MIT */
/* The commands, and how they speak and end: 1 when something went wrong, 2 when asked wrongly. */
#ifndef CMD_H
#define CMD_H

#include "base/base.h"
#include "decode/trace.h"

#include <getopt.h>

#define GAIT_VERSION "0.1"

/* Each takes its own name as argv[0] and returns the exit status. */
#define CMD(name, args, what) int cmd_##name(int argc, char **argv);
#include "cmd/commands.def"
#undef CMD

/* Print `gait: SENTENCE` on stderr and exit with status 1. */
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same for a command line that makes no sense: adds where to find help, exit status 2. */
_Noreturn void die_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The same, and go on. */
void warn(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The next option, as getopt_long gives it; ends the command on one that is unknown or incomplete.
 * With a leading + in `shorts` the options stop at the first argument that is none. */
int next_option(int argc, char **argv, const char *shorts, const struct option *longs);
/* The one argument after the options. */
const char *only_argument(int argc, char **argv, const char *what);
/* The number that an option was given; `what` says what it is for. */
u64 option_number(const char *command, const char *option, const char *what, const char *s);
/* The time that an option was given, in seconds: a number, with s or ms behind it or nothing. */
double option_seconds(const char *command, const char *option, const char *s);
/* Which of the words an option was given. */
u32 option_word(const char *option, const char *given, const char *const *words, u32 n);

/* Say what is missing from a trace whose readable part was shown: warn if it was interrupted, die
 * if it is damaged. */
void report_trouble(const struct trace *t);

/* Write to a file whose name for people is `where`, or die with the reason. */
void write_all(int fd, const char *where, const void *p, size_t n);
/* Flush stdio's standard output, or die with the reason. */
void stdout_flush(void);

#endif
