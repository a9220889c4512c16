/* SPDX-License-Identifier: MIT */
/* Counting far accesses by place. */
#include "analyze/fars.h"

#include <stdlib.h>

void fars_count(struct fars *f, u32 id, u64 distance, u64 times)
{
    u32 i = id & ~FAR_CODE;
    struct far *x;
    if (id & FAR_CODE) {
        vec_reach(&f->insns, i);
        x = &f->insns.v[i];
    } else {
        vec_reach(&f->refs, i);
        x = &f->refs.v[i];
    }
    x->cold += distance == (u64)DISTANCE_COLD ? times : 0;
    for (u32 k = 0; k < f->limits->n && distance >= f->limits->least[k]; k++)
        x->beyond[k] += times;
}

void fars_fini(struct fars *f)
{
    vec_fini(&f->refs);
    vec_fini(&f->insns);
}
