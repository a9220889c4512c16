/* SPDX-License-Identifier: MIT */
/* The caches of this machine, as the kernel describes them. */
#ifndef MACHINE_H
#define MACHINE_H

#include "base/base.h"

struct machine_cache {
    u32 level; /* 1: the nearest; 0: the kernel tells of no such cache */
    bool for_code, for_data;
    u64 size;
    u32 ways, line;
    char users[256]; /* which processors share it, in the kernel's words */
};

enum { MACHINE_CACHES = 8 /* at most */ };
struct machine_cache machine_cache(u32 index);

#endif
