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

void vast_free(void *p, size_t size)
{
    if (p)
        munmap(p, size);
}
