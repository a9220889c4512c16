/* SPDX-License-Identifier: MIT */
/* Which paths are hot, as the records tell: nothing is counted inside the program.
 *
 * Now and then a drained buffer is looked at. The unit that begins most of its records heads a path; the path goes on with the exit
 * that most often came next, among the records that came the same way so far, while that is three quarters of them and half of those that
 * began. What the path covers is
 * taken out, and the next head is looked for. The translator makes one unit of each path; the next buffer shows what is left. */
#include "host/process.h"
#include "base/vast.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MOST_IDS = 1 << 14, /* looked at in a buffer */
    MOST_HEADS = 512,   /* units tried */
    MOST_PATHS = 12,    /* made of one buffer */
    LEAST_TIMES = 16,   /* that a head must occur */
    HEAD_SHARE = 256,   /* and at least once in so many records */
    MOST_PERIOD = 64,   /* one buffer in so many is looked at, at least */
};

struct heat {
    pthread_mutex_t lock; /* one drain at a time; guards what follows */
    u32 skip, period;     /* buffers until the next look, and how many that was */
    u32 n;
    u32 id
        [MOST_IDS]; /* exits, in the order of the records; 0 where something else stands, or a path covers it */
    u32 came[MOST_IDS]; /* records that came the way of the path so far: where it would go on */
    u32 n_heads, head[MOST_HEADS];
    u32 *count; /* by unit, of the heads among the ids; all 0 between looks */
    u8 *tried;  /* by unit: it has headed a path */

    pthread_mutex_t paths_lock; /* guards what follows, for the translator */
    struct hot_path {
        u32 n;
        u32 id[HOT_EXITS];
    } path[MOST_PATHS];
    u32 n_paths; /* atomic to look at */
};

struct heat *heat_new(void)
{
    struct heat *h = calloc(1, sizeof *h);
    check(h != NULL);
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->paths_lock, NULL);
    h->period = 1;
    h->count = vast_new(EXIT_ID_LIMIT * sizeof *h->count);
    h->tried = vast_new(EXIT_ID_LIMIT);
    return h;
}

void heat_renew(struct heat *h, size_t units)
{
    memset(h->count, 0, units * sizeof *h->count);
    memset(h->tried, 0, units);
    h->skip = h->n = h->n_heads = h->n_paths = 0;
    h->period = 1;
}

void heat_free(struct heat *h)
{
    if (!h)
        return;
    vast_free(h->count, EXIT_ID_LIMIT * sizeof *h->count);
    vast_free(h->tried, EXIT_ID_LIMIT);
    free(h);
}

/* -- A buffer's exits ------------------------------------------------------------------------- */

static u32 unit_of(const struct unit_table *t, u32 id)
{
    return t->exits.v[id - FIRST_EXIT_ID].unit;
}

/* Only units that are complete in the table count; the program could have written anything. */
static void read_ids(struct heat *h, const struct unit_table *t, const u8 *data, u32 size)
{
    size_t units = load_acquire(&t->units.n);
    u32 limit =
        units ? FIRST_EXIT_ID + t->units.v[units - 1].exit0 + t->units.v[units - 1].n_exits : 0;
    h->n = 0;
    for (u32 at = 0; at + RECORD_SLOTS_AT <= size && h->n < MOST_IDS;) {
        u32 header;
        memcpy(&header, data + at, 4);
        u32 id = header >> RECORD_ID_SHIFT;
        if (!id)
            break;
        bool known = id >= FIRST_EXIT_ID && id < limit;
        h->id[h->n++] = known ? id : 0;
        at += RECORD_SLOTS_AT + 8 * (header & 0xff);
    }
}

static void count_heads(struct heat *h, const struct unit_table *t, u32 by)
{
    for (u32 i = 0; i < h->n; i++)
        if (h->id[i])
            h->count[unit_of(t, h->id[i])] += by;
}

/* Note the units that begin enough records and have not been tried. */
static void find_heads(struct heat *h, const struct unit_table *t, u32 least)
{
    h->n_heads = 0;
    for (u32 i = 0; i < h->n && h->n_heads < MOST_HEADS; i++) {
        u32 u = h->id[i] ? unit_of(t, h->id[i]) : 0;
        if (!h->id[i] || h->tried[u] || h->count[u] < least)
            continue;
        h->tried[u] = 1;
        h->head[h->n_heads++] = u;
    }
    for (u32 k = 0; k < h->n_heads; k++)
        h->tried[h->head[k]] = 0;
}

/* The one that begins the most records that nothing covers; it is tried now. Its count. */
static u32 hottest(struct heat *h, u32 *unit)
{
    u32 most = 0;
    for (u32 k = 0; k < h->n_heads; k++) {
        u32 u = h->head[k];
        if (h->tried[u] || h->count[u] <= most)
            continue;
        most = h->count[u];
        *unit = u;
    }
    if (most)
        h->tried[*unit] = 1;
    return most;
}

/* -- A path ----------------------------------------------------------------------------------- */

/* The exit that stands most often where those who came the same way are now. Boyer and Moore's vote finds it if it is more than
 * half of them; no other would be a path worth having. */
static u32 majority(const struct heat *h, u32 came, u32 *times)
{
    u32 best = 0, votes = 0;
    for (u32 k = 0; k < came; k++) {
        u32 id = h->id[h->came[k]];
        if (!votes)
            best = id;
        votes += id == best ? 1 : (u32)-1;
    }
    *times = 0;
    for (u32 k = 0; k < came; k++)
        *times += h->id[h->came[k]] == best;
    return best;
}

/* Those who went on by this exit, one further. */
static u32 go_on(struct heat *h, u32 came, u32 id)
{
    u32 kept = 0;
    for (u32 k = 0; k < came; k++)
        if (h->id[h->came[k]] == id && h->came[k] + 1 < h->n)
            h->came[kept++] = h->came[k] + 1;
    return kept;
}

static void follow(struct heat *h, const struct unit_table *t, u32 head, bool eager,
                   struct hot_path *p)
{
    u32 came = 0, insns = 0;
    p->n = 0;
    for (u32 i = 0; i < h->n; i++)
        if (h->id[i] && unit_of(t, h->id[i]) == head)
            h->came[came++] = i;
    u32 least = eager ? 1 : MAX(came / 2, 4u);
    while (p->n < HOT_EXITS && insns < HOT_INSNS) {
        u32 times, id = majority(h, came, &times);
        if (!id || times < least || times * 4 < came * (eager ? 1 : 3))
            break;
        p->id[p->n++] = id;
        insns += t->exits.v[id - FIRST_EXIT_ID].insns;
        came = go_on(h, came, id);
    }
}

/* Take out the records that the path covers, as far as each goes along with it; and their counts. */
static void cover(struct heat *h, const struct unit_table *t, const struct hot_path *p)
{
    u32 head = unit_of(t, p->id[0]);
    for (u32 i = 0; i < h->n; i++) {
        if (!h->id[i] || unit_of(t, h->id[i]) != head)
            continue;
        u32 k = 0;
        for (; k < p->n && i + k < h->n && h->id[i + k] == p->id[k]; k++) {
            h->count[unit_of(t, h->id[i + k])]--;
            h->id[i + k] = 0;
        }
        i += k ? k - 1 : 0;
    }
}

static void look(struct heat *h, const struct unit_table *t, const u8 *data, u32 size, bool eager)
{
    read_ids(h, t, data, size);
    count_heads(h, t, 1);
    u32 least = eager ? 1 : MAX(h->n / HEAD_SHARE, (u32)LEAST_TIMES), found = 0, unit;
    find_heads(h, t, least);
    while (found < MOST_PATHS && hottest(h, &unit) >= least) {
        struct hot_path *p = &h->path[found];
        follow(h, t, unit, eager, p);
        if (p->n < 2)
            continue;
        cover(h, t, p);
        found++;
    }
    count_heads(h, t, (u32)-1);
    __atomic_store_n(&h->n_paths, found, __ATOMIC_RELEASE);
}

/* -- Between the drains and the translator ---------------------------------------------------- */

void heat_look(struct process *p, const u8 *data, u32 size)
{
    struct heat *h = p->heat;
    struct control *c = p->control;
    if (!h || pthread_mutex_trylock(&h->lock))
        return;
    if (h->skip) {
        h->skip--;
        pthread_mutex_unlock(&h->lock);
        return;
    }
    pthread_mutex_lock(&h->paths_lock);
    if (!h->n_paths)
        look(h, translator_table(p->translator), data, size, p->run->stress.hot);
    bool found = h->n_paths;
    pthread_mutex_unlock(&h->paths_lock);
    h->period = found || p->run->stress.hot ? 1 : MIN(h->period * 2, (u32)MOST_PERIOD);
    h->skip = h->period - 1;
    pthread_mutex_unlock(&h->lock);
    if (!found)
        return;
    __atomic_fetch_add(&c->bell, 1, __ATOMIC_SEQ_CST);
    if (load_relaxed(&c->host_sleeps))
        syscall(SYS_futex, &c->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool heat_translate(struct process *p)
{
    struct heat *h = p->heat;
    if (!h || !load_acquire(&h->n_paths))
        return false;
    pthread_mutex_lock(&h->paths_lock);
    struct hot_path path = h->path[h->n_paths - 1];
    __atomic_store_n(&h->n_paths, h->n_paths - 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&h->paths_lock);
    translate_hot(p->translator, path.id, path.n);
    return true;
}
