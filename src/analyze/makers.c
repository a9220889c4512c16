/* SPDX-License-Identifier: MIT */
/* Who has which maker. */
#include "analyze/makers.h"
#include "base/err.h"

#include <stdlib.h>

void makers_init(struct makers *m, const struct touch_plan *plan)
{
    *m = (struct makers){.plan = *plan};
    check(pthread_mutex_init(&m->lock, NULL) == 0);
}

static struct maker *new_maker(struct makers *m)
{
    const struct touch_plan *p = &m->plan;
    struct maker *x = zeros(1, sizeof *x);
    touch_maker_init(&x->lines, p->table, p->lines[TOUCH_OF_CODE], p->lines[TOUCH_OF_DATA]);
    x->lines.timed = p->timed;
    x->lines.by_line = p->by_line;
    if (p->has_pages)
        touch_maker_init(&x->pages, p->table, p->pages[TOUCH_OF_CODE], p->pages[TOUCH_OF_DATA]);
    vec_push(&m->list, x);
    return x;
}

struct maker *makers_lend(struct makers *m)
{
    struct maker *found = NULL;
    pthread_mutex_lock(&m->lock);
    for (size_t i = 0; i < m->list.n; i++) {
        struct maker *x = m->list.v[i];
        if (!x->is_lent && (!found || pthread_equal(x->thread, pthread_self())))
            found = x;
    }
    if (!found)
        found = new_maker(m);
    found->is_lent = true;
    found->thread = pthread_self();
    pthread_mutex_unlock(&m->lock);
    return found;
}

void makers_take_back(struct makers *m, struct maker *x)
{
    pthread_mutex_lock(&m->lock);
    x->is_lent = false;
    pthread_mutex_unlock(&m->lock);
}

void makers_counts(struct makers *m, u64 *insns, u64 *refs)
{
    for (size_t i = 0; i < m->list.n; i++)
        touch_maker_counts(&m->list.v[i]->lines, insns, refs);
}

void makers_fini(struct makers *m)
{
    for (size_t i = 0; i < m->list.n; i++) {
        touch_maker_fini(&m->list.v[i]->lines);
        touch_maker_fini(&m->list.v[i]->pages);
        free(m->list.v[i]);
    }
    vec_fini(&m->list);
    pthread_mutex_destroy(&m->lock);
}
