/* SPDX-License-Identifier: MIT */
/* Descriptions of hierarchies: a small file, the kernel's account of this machine, cachegrind's options.
 *
 * A file has one thing on a line: its name, then words, either NAME=VALUE or a word alone; what stands behind # is not read. */
#include "analyze/machine.h"
#include "analyze/shape.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CYCLES = 1000000, MOST_IPC = 100 };

/* A line of a file, for its errors. */
struct place {
    const char *path;
    u32 line;
    struct err *e;
};

static int complain(const struct place *p, const char *what, const char *allowed)
{
    return err_set(p->e, "%s:%u: %.100s; %s", p->path, p->line, what, allowed);
}

static int complain_word(const struct place *p, const char *word, const char *allowed)
{
    char what[128];
    snprintf(what, sizeof what, "%.80s is not known here", word);
    return complain(p, what, allowed);
}

/* -- Words --------------------------------------------------------------------------------------- */

/* A number of bytes or other things, with K, M or G. */
static bool read_number(const char *text, u64 *n)
{
    char *end;
    errno = 0;
    *n = strtoull(text, &end, 0);
    const char *units = "KMG", *unit = *end ? strchr(units, toupper((u8)*end)) : NULL;
    u32 shift = unit ? 10u * (u32)(unit - units + 1) : 0;
    if (!isdigit((u8)text[0]) || errno || end[unit != NULL] || *n > UINT64_MAX >> shift)
        return false;
    *n <<= shift;
    return true;
}

static int set_number(const struct place *p, const char *value, u64 *n)
{
    return read_number(value, n)
               ? 0
               : complain_word(p, value, "a number is wanted, with K, M or G behind it or not");
}

static int set_u32(const struct place *p, const char *value, u32 *n)
{
    u64 wide;
    if (set_number(p, value, &wide))
        return -1;
    *n = (u32)MIN(wide, (u64)UINT32_MAX);
    return 0;
}

static int set_cycles(const struct place *p, const char *value, u32 *n)
{
    u64 wide;
    if (!read_number(value, &wide) || !wide || wide > MOST_CYCLES)
        return complain_word(p, value, "cycles are between 1 and 1000000");
    *n = (u32)wide;
    return 0;
}

static int set_choice(const struct place *p, const char *value, const char *const *words, u32 n,
                      u32 *which)
{
    char allowed[128] = "it is one of";
    for (u32 i = 0; i < n; i++) {
        if (!strcmp(value, words[i])) {
            *which = i;
            return 0;
        }
        size_t at = strlen(allowed);
        snprintf(allowed + at, sizeof allowed - at, "%s %s", i ? "," : "", words[i]);
    }
    return complain_word(p, value, allowed);
}
#define SET_CHOICE(p, value, words, to)                                       \
    ({                                                                        \
        u32 which_ = (u32) * (to);                                            \
        int failed_ = set_choice(p, value, words, ARRAY_LEN(words), &which_); \
        *(to) = which_;                                                       \
        failed_;                                                              \
    })

/* The value behind the name, if the word has this name. */
static const char *value_of(const char *word, const char *name)
{
    size_t n = strlen(name);
    return !strncmp(word, name, n) && word[n] == '=' ? word + n + 1 : NULL;
}

/* -- Caches -------------------------------------------------------------------------------------- */

static int set_allocate(const struct place *p, const char *value, bool *bypassed)
{
    static const char *const words[] = {"yes", "no"};
    u32 which = 0;
    int failed = SET_CHOICE(p, value, words, &which);
    *bypassed = which;
    return failed;
}

static int read_cache_word(const struct place *p, struct cache_shape *c, const char *word)
{
    const char *v;
    if ((v = value_of(word, "size")))
        return set_number(p, v, &c->size);
    if ((v = value_of(word, "ways")) && !strcmp(v, "full")) {
        c->ways = UINT32_MAX;
        return 0;
    }
    if ((v = value_of(word, "ways")))
        return set_u32(p, v, &c->ways);
    if ((v = value_of(word, "line")))
        return set_u32(p, v, &c->line);
    if ((v = value_of(word, "latency")))
        return set_cycles(p, v, &c->latency);
    if ((v = value_of(word, "policy")))
        return SET_CHOICE(p, v, policy_words, &c->policy);
    if ((v = value_of(word, "write")))
        return SET_CHOICE(p, v, writing_words, &c->writing);
    if ((v = value_of(word, "prefetch")))
        return SET_CHOICE(p, v, prefetch_words, &c->prefetch);
    if ((v = value_of(word, "allocate")))
        return set_allocate(p, v, &c->bypassed);
    if (!strcmp(word, "private") || !strcmp(word, "shared")) {
        c->is_private = word[0] == 'p';
        return 0;
    }
    for (u32 i = 0; i < ARRAY_LEN(inclusion_words); i++)
        if (!strcmp(word, inclusion_words[i])) {
            c->inclusion = i;
            return 0;
        }
    return complain_word(
        p, word,
        "a cache has size= ways= line= policy= write= allocate= prefetch= latency=, private or "
        "shared, inclusive, exclusive or neither");
}

static bool names_cache(const char *name)
{
    size_t n = strlen(name);
    return (n == 2 || (n == 3 && (name[2] == 'I' || name[2] == 'D'))) && name[0] == 'L' &&
           name[1] >= '1' && name[1] < '1' + SHAPE_LEVELS;
}

static int read_cache(const struct place *p, struct shape *s, char *name, char *rest)
{
    for (u32 i = 0; i < s->n_caches; i++)
        if (!strcmp(s->cache[i].name, name))
            return complain_word(p, name, "there is one already");
    if (s->n_caches == SHAPE_CACHES)
        return complain_word(p, name, "there are too many caches");
    struct cache_shape *c = &s->cache[s->n_caches++];
    *c = (struct cache_shape){.line = 64};
    snprintf(c->name, sizeof c->name, "%s", name);
    for (char *word; (word = strsep(&rest, " \t\r\n"));)
        if (*word && read_cache_word(p, c, word))
            return -1;
    if (c->ways == UINT32_MAX)
        c->ways = c->line ? (u32)MIN(c->size / c->line, (u64)UINT32_MAX) : 0;
    const char *fault = cache_shape_fault(c);
    return fault ? complain(p, name, fault) : 0;
}

/* -- TLBs ---------------------------------------------------------------------------------------- */

static int set_page(const struct place *p, const char *value, struct tlb_shape *t)
{
    static const char *const words[] = {"4K", "2M", "both"};
    u32 which = 2;
    int failed = SET_CHOICE(p, value, words, &which);
    t->small = which != 1;
    t->huge = which != 0;
    return failed;
}

static int read_tlb_word(const struct place *p, struct tlb_shape *t, const char *word)
{
    const char *v;
    if ((v = value_of(word, "entries")))
        return set_u32(p, v, &t->entries);
    if ((v = value_of(word, "ways")) && !strcmp(v, "full")) {
        t->ways = UINT32_MAX;
        return 0;
    }
    if ((v = value_of(word, "ways")))
        return set_u32(p, v, &t->ways);
    if ((v = value_of(word, "policy")))
        return SET_CHOICE(p, v, policy_words, &t->policy);
    if ((v = value_of(word, "page")))
        return set_page(p, v, t);
    if (!strcmp(word, "private") || !strcmp(word, "shared")) {
        t->is_private = word[0] == 'p';
        return 0;
    }
    return complain_word(p, word, "a TLB has entries= ways= policy= page=, private or shared");
}

static bool names_tlb(const char *name)
{
    return !strcmp(name, "ITLB") || !strcmp(name, "DTLB") || !strcmp(name, "STLB");
}

static bool overlap(const struct tlb_shape *a, const struct tlb_shape *b)
{
    return !strcmp(a->name, b->name) && ((a->small && b->small) || (a->huge && b->huge));
}

static int read_tlb(const struct place *p, struct shape *s, char *name, char *rest)
{
    if (s->n_tlbs == SHAPE_TLBS)
        return complain_word(p, name, "there are too many TLBs");
    struct tlb_shape *t = &s->tlb[s->n_tlbs];
    *t = (struct tlb_shape){.level = name[0] == 'S',
                            .takes = {name[0] != 'I', name[0] != 'D'},
                            .small = true,
                            .huge = true,
                            .is_private = true};
    snprintf(t->name, sizeof t->name, "%s", name);
    for (char *word; (word = strsep(&rest, " \t\r\n"));)
        if (*word && read_tlb_word(p, t, word))
            return -1;
    if (t->ways == UINT32_MAX)
        t->ways = t->entries;
    for (u32 i = 0; i < s->n_tlbs; i++)
        if (overlap(t, &s->tlb[i]))
            return complain_word(
                p, name, "there is one already for pages of this size; page= tells them apart");
    const char *fault = tlb_shape_fault(t);
    if (fault)
        return complain(p, name, fault);
    s->n_tlbs++;
    return 0;
}

static int read_huge(const struct place *p, struct shape *s, const char *word)
{
    char *end;
    struct huge_range r = {.end = UINT64_MAX};
    if (s->n_huge == ARRAY_LEN(s->huge))
        return complain_word(p, word, "there are too many ranges");
    if (strcmp(word, "all")) {
        r.start = strtoull(word, &end, 16);
        if (*end != '-')
            return complain_word(p, word, "it is all, or START-END in hexadecimal");
        r.end = strtoull(end + 1, &end, 16);
        if (*end || r.end <= r.start)
            return complain_word(p, word, "it is all, or START-END in hexadecimal");
    }
    const u64 page = 2 << 20;
    s->huge[s->n_huge++] =
        (struct huge_range){ALIGN_DOWN(r.start, page), MAX(r.end, ALIGN_UP(r.end, page))};
    return 0;
}

/* -- The file ------------------------------------------------------------------------------------ */

static int read_cores(const struct place *p, struct shape *s, const char *word)
{
    u64 n;
    if (!read_number(word, &n) || !n || n > SHAPE_CORES)
        return complain_word(p, word, "cores are between 1 and 64");
    s->cores = (u32)n;
    return 0;
}

static int read_ipc(const struct place *p, struct shape *s, const char *word)
{
    char *end;
    s->ipc = strtod(word, &end);
    return end != word && !*end && s->ipc > 0 && s->ipc <= MOST_IPC
               ? 0
               : complain_word(p, word, "instructions in a cycle are more than 0, and at most 100");
}

static int read_line(const struct place *p, struct shape *s, char *line)
{
    line[strcspn(line, "#")] = 0;
    char *rest = line + strspn(line, " \t\r\n"), *name = strsep(&rest, " \t\r\n");
    if (!*name)
        return 0;
    char *more = rest ? rest + strspn(rest, " \t\r\n") : name + strlen(name);
    more[strcspn(more, "\r\n")] = 0;
    if (names_cache(name))
        return read_cache(p, s, name, more);
    if (names_tlb(name))
        return read_tlb(p, s, name, more);
    more[strcspn(more, " \t")] = 0;
    if (!strcmp(name, "cores"))
        return read_cores(p, s, more);
    if (!strcmp(name, "huge"))
        return read_huge(p, s, more);
    if (!strcmp(name, "memory"))
        return set_cycles(p, more, &s->memory);
    if (!strcmp(name, "ipc"))
        return read_ipc(p, s, more);
    return complain_word(p, name,
                         "a line begins with L1 to L4, I or D behind it or not, ITLB, DTLB, STLB, "
                         "cores, huge, memory or ipc");
}

/* A file that describes a hierarchy; -1 with a sentence. */
static int read_file(struct shape *s, const char *path, struct err *e)
{
    struct place p = {path, 0, e};
    struct err why;
    char *line = NULL;
    size_t room = 0;
    int failed = 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return err_set(e, "%s cannot be read: %s", path, strerror(errno));
    *s = (struct shape){.cores = SHAPE_CORES};
    while (!failed && getline(&line, &room, f) >= 0) {
        p.line++;
        failed = read_line(&p, s, line);
    }
    free(line);
    fclose(f);
    if (!failed && shape_join(s, &why))
        failed = err_set(e, "%s: %.400s", path, why.text);
    return failed;
}

/* -- cachegrind's options ------------------------------------------------------------------------ */

/* A number behind a comma, if there is one; the place behind it. */
static const char *read_part(const char *at, u32 *n)
{
    char *end;
    if (*at != ',')
        return at;
    u64 wide = strtoull(at + 1, &end, 10);
    *n = (u32)MIN(wide, (u64)UINT32_MAX);
    return end;
}

/* SIZE,WAYS,LINE; -1 with the rest of a sentence. */
static int read_triple(struct cache_shape *c, const char *value, struct err *e)
{
    char *end;
    struct cache_shape s = *c;
    s.ways = s.line = 0;
    s.size = strtoull(value, &end, 10);
    if (*read_part(read_part(end, &s.ways), &s.line))
        return err_set(e, "wants SIZE,WAYS,LINE in bytes, not %s", value);
    const char *fault = cache_shape_fault(&s);
    if (fault)
        return err_set(e, "cannot be %s: %s", value, fault);
    *c = s;
    return 0;
}

/* -- The machine --------------------------------------------------------------------------------- */

/* A cache that processors share which do not share the first level is shared. */
static bool read_machine(struct shape *s)
{
    struct machine_cache first = {0};
    struct err ignored;
    for (u32 index = 0; index < MACHINE_CACHES && s->n_caches < SHAPE_CACHES; index++) {
        struct machine_cache m = machine_cache(index);
        struct cache_shape c = {.size = m.size, .ways = m.ways, .line = m.line};
        if (m.level < 1 || m.level > SHAPE_LEVELS || cache_shape_fault(&c))
            continue;
        if (m.level == 1)
            first = m;
        c.is_private = !strcmp(first.users, m.users);
        snprintf(c.name, sizeof c.name, "L%u%s", m.level,
                 !m.for_data ? "I" : !m.for_code ? "D" : "");
        s->cache[s->n_caches++] = c;
    }
    return !shape_join(s, &ignored);
}

static void use_machine(struct shape *s)
{
    static const struct cache_shape common[] = {
        {.name = "L1I", .size = 32 << 10, .ways = 8, .line = 64, .is_private = true},
        {.name = "L1D", .size = 32 << 10, .ways = 8, .line = 64, .is_private = true},
        {.name = "L2", .size = 8 << 20, .ways = 16, .line = 64},
    };
    struct err impossible;
    u32 cores = (u32)MAX(1l, MIN(sysconf(_SC_NPROCESSORS_ONLN), (long)SHAPE_CORES));
    *s = (struct shape){.cores = cores};
    if (read_machine(s))
        return;
    *s = (struct shape){.cores = cores, .n_caches = ARRAY_LEN(common)};
    memcpy(s->cache, common, sizeof common);
    check(!shape_join(s, &impossible));
}

/* -- What a user says ---------------------------------------------------------------------------- */

void shape_given_init(struct shape_given *g)
{
    *g = (struct shape_given){0};
    use_machine(&g->all);
    shape_of_two(&g->two, &g->all);
}

int shape_given_set(struct shape_given *g, const char *option, const char *value, struct err *e)
{
    for (u32 k = 0; k < g->two.n_caches; k++)
        if (!strcmp(option, g->two.cache[k].name)) {
            g->is_two = true;
            return read_triple(&g->two.cache[k], value, e);
        }
    if (strcmp(option, "config"))
        return 1;
    g->is_file = true;
    return read_file(&g->all, value, e);
}

int shape_given_choose(const struct shape_given *g, struct shape *s, struct err *e)
{
    if (g->is_two && g->is_file)
        return err_set(e, "--config describes all caches; leave out --I1, --D1 and --LL");
    *s = g->is_two ? g->two : g->all;
    return 0;
}
