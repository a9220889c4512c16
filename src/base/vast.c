/* SPDX-License-Identifier: MIT */
/* Address space that fills up from its beginning. */
#include "base/vast.h"
#include "base/err.h"

#include <sys/mman.h>

/* What is at the beginning stays in small pages: many programs need no more. */
enum { HUGE_PAGE = 2 << 20, SMALL_PART = 512 << 10 };

void *vast_new(size_t size)
{
    u8 *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check(p != MAP_FAILED);
    u8 *end = p + size, *huge = (u8 *)ALIGN_UP((uintptr_t)p + SMALL_PART, (uintptr_t)HUGE_PAGE);
    if (huge < end) /* a kernel that has none does without */
        madvise(huge, (size_t)(end - huge), MADV_HUGEPAGE);
    return p;
}

void vast_ready(void *p, size_t size, size_t used, size_t *ready)
{
    enum { AHEAD = 32 << 10, STEP = 128 << 10 };
    if (used + AHEAD <= *ready || *ready >= MIN(size, (size_t)SMALL_PART))
        return;
    madvise((u8 *)p + *ready, MIN(size - *ready, (size_t)STEP), MADV_POPULATE_WRITE); /* where the kernel cannot, they come by faults */
    *ready += STEP;
}

void *vast_new_ready(size_t size)
{
    void *p = vast_new(size);
    madvise(p, MIN(size, (size_t)SMALL_PART), MADV_POPULATE_WRITE);
    return p;
}

void vast_free(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}
