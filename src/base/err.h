/* SPDX-License-Identifier: MIT */
/* One error, carried as the sentence the user will read: the thing, the cause, the next step.
 * Hosted rooms only. */
#ifndef ERR_H
#define ERR_H

#include "base/base.h"

struct err {
    char text[512];
};

/* Format the sentence; always returns -1, so that `return err_set(e, ...)` reads well. */
int err_set(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* A broken invariant of our own code, never of input: print where and abort. Always on. */
#define check(cond)                                  \
    do {                                             \
        if (__builtin_expect(!(cond), 0))            \
            check_failed(#cond, __FILE__, __LINE__); \
    } while (0)
_Noreturn void check_failed(const char *what, const char *file, int line);

#endif
