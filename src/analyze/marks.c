/* SPDX-License-Identifier: MIT */
/* Room for marks. */
#include "analyze/marks.h"
#include "base/err.h"

#include <stdlib.h>
#include <string.h>

static u64 groups_of(u64 n)
{
    return (n + MARKS_GROUP - 1) / MARKS_GROUP;
}

void marks_init(struct marks *m, u64 capacity)
{
    capacity = ALIGN_UP(capacity, MARKS_BLOCK);
    check(capacity <= MARKS_LIMIT);
    *m = (struct marks){.capacity = (u32)capacity};
    u64 n = capacity / MARKS_BLOCK, groups = 0, at[MARKS_LEVELS];
    do {
        check(m->levels < MARKS_LEVELS);
        at[m->levels++] = groups;
        n = groups_of(n);
        groups += n;
    } while (n > 1);
    size_t bytes = groups * sizeof(marks_group) + capacity / 8;
    m->memory = aligned_alloc(sizeof(marks_group), ALIGN_UP(bytes, sizeof(marks_group)));
    check(m->memory != NULL);
    for (u32 level = 0; level < m->levels; level++)
        m->before[level] = (marks_group *)m->memory + at[level];
    m->bits = (u64 *)((marks_group *)m->memory + groups);
    memset(m->memory, 0, bytes);
}

void marks_fini(struct marks *m)
{
    free(m->memory);
    *m = (struct marks){0};
}

void marks_reset(struct marks *m, u32 n)
{
    memset(m->bits, 0, (m->now + 63ul) / 64 * sizeof *m->bits);
    m->now = m->n = 0;
    marks_push_many(m, n);
}
