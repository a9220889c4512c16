/* SPDX-License-Identifier: MIT */
/* Which misses of caches are counted by context. */
#ifndef MISS_KINDS_H
#define MISS_KINDS_H

/* Of code and of data in the first level, of both in the last; by instruction or reference, however many lines it comes to. */
enum miss_kind { MISS_i1, MISS_d1, MISS_ll, MISS_KINDS };

#endif
