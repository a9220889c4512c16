/* SPDX-License-Identifier: MIT */
/* Where code is, for whoever is in another process than gait: the modules, written to a file that both have. */
#ifndef NAMES_H
#define NAMES_H

#include "analyze/sources.h"

#include <gait.h>

struct names {
    VEC(struct trace_module) modules;
    struct sources sources;
    bool open;
};

/* A file without a name; -1 if there can be none. */
int names_file(void);
void names_write(int fd, const struct trace_module *m, size_t n);
/* What was written. */
void names_open(struct names *x, int fd);
/* Or modules that stay where they are. */
void names_use(struct names *x, const struct trace_module *m, size_t n);
struct gait_place names_find(struct names *x, u32 process, u64 pc);
void names_close(struct names *x);

#endif
