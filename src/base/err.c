/* SPDX-License-Identifier: MIT */
/* Error sentences and the always-on assertion. */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

int err_set(struct err *e, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    return -1;
}

void check_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "gait: internal error at %s:%d: %s does not hold; please report this\n", file,
            line, what);
    abort();
}
