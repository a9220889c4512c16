/* SPDX-License-Identifier: MIT */
/* Lines that cores take from each other, and whether they use the same bytes of them.
 *
 * A core that has lost a line to another's write, and then misses it, would not have missed it alone. The miss is one of true sharing if
 * a byte that it asks for was written by others in the meantime; if not, only the line is shared, not what is in it: false sharing. */
#ifndef SHARING_H
#define SHARING_H

#include "base/vec.h"

/* Of a line, or of a line and something else of it: a core that has lost it, an instruction that took it from others. */
struct share {
    u64 line, other;
    u64 invalidations, regained, regained_false;
    u64 lost;  /* by these cores: bits */
    u64 cores; /* that ever lost or took it */
    u64 bytes; /* of a core: which were written since it lost the line */
};

/* What `other` is. */
#define SHARE_LINE 0
#define SHARE_CORE (1ull << 63) /* | its number */
#define SHARE_CODE (1ull << 62) /* | the 48 bits of its pc */

struct sharing {
    VEC(struct share) shares;
    u32 *table; /* of numbers in it + 1, by hash; 0: free */
    u64 mask;
};

enum regained { REGAINED_no, REGAINED_true, REGAINED_false };

/* Which bytes of a line, as bits: of a long line each bit is several bytes. */
u64 sharing_bytes(u32 line, u64 address, u64 size);
/* A write of the instruction at pc has taken the line from a core. */
void sharing_lose(struct sharing *s, u64 line, u32 core, u64 pc);
/* A core writes bytes of a line; those that lost it shall know. */
void sharing_write(struct sharing *s, u64 line, u32 core, u64 bytes);
/* A core gets a line, for these bytes of it. */
enum regained sharing_regain(struct sharing *s, u64 line, u32 core, u64 bytes, bool is_prefetch);
void sharing_fini(struct sharing *s);

#endif
