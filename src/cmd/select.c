/* SPDX-License-Identifier: MIT */
/* From names to code: which of a program's functions, modules, lines and addresses are recorded. */
#include "cmd/select.h"
#include "cmd/cmd.h"
#include "image/image.h"
#include "translate/translate.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void choices_init(struct choices *x, const char *command)
{
    *x = (struct choices){.command = command};
    check(pthread_mutex_init(&x->lock, NULL) == 0);
}

void choices_fini(struct choices *x)
{
    for (size_t i = 0; i < x->list.n; i++)
        free(x->list.v[i].name);
    vec_fini(&x->list);
    vec_fini(&x->selector.always);
    pthread_mutex_destroy(&x->lock);
}

enum { DEFAULT_NOVEL = 8 };

/* -- Options ----------------------------------------------------------------------------------- */

static struct choice *add(struct choices *x, enum choice_kind kind, const char *given)
{
    struct choice c = {.kind = kind, .given = given, .name = strdup(given), .to = UINT32_MAX};
    check(c.name != NULL);
    vec_push(&x->list, c);
    return &x->list.v[x->list.n - 1];
}

/* FILE, FILE:LINE or FILE:LINE-LINE */
static void add_source(struct choices *x, const char *given)
{
    struct choice *c = add(x, CHOICE_source, given);
    char *colon = strrchr(c->name, ':'), *end;
    if (!colon)
        return;
    *colon = 0;
    c->from = c->to = (u32)strtoul(colon + 1, &end, 10);
    if (*end == '-')
        c->to = (u32)strtoul(end + 1, &end, 10);
    if (*end || !c->from || c->to < c->from || !c->name[0])
        die_usage("%s: --source wants FILE, FILE:LINE or FILE:LINE-LINE, not %s", x->command, given);
}

static void add_range(struct choices *x, const char *given)
{
    char *end;
    u64 from = strtoull(given, &end, 16), to = *end == '-' ? strtoull(end + 1, &end, 16) : 0;
    if (*end || to <= from)
        die_usage("%s: --range wants two addresses in hexadecimal, FROM-TO, not %s", x->command, given);
    add(x, CHOICE_range, given)->found = true;
    vec_push(&x->selector.always, ((struct stretch){from, to, SPOT_SELECTED}));
}

/* B/T: how much of each period, as a share or a time, and how long a period is. */
static struct budget read_budget(const struct choices *x, const char *given)
{
    static const double shortest = 1e-3;
    char part[32];
    const char *slash = strchr(given, '/');
    char *end;
    if (!slash || (size_t)(slash - given) >= sizeof part)
        die_usage("%s: --budget wants a share or a time, and a period, such as 10%%/1s or 2ms/20ms, not %s",
                  x->command, given);
    memcpy(part, given, (size_t)(slash - given));
    part[slash - given] = 0;
    struct budget b = {.period = option_seconds(x->command, "budget", slash + 1)};
    double share = strtod(part, &end);
    b.seconds = end != part && !strcmp(end, "%") ? share / 100 * b.period
                                                 : option_seconds(x->command, "budget", part);
    if (b.period < shortest)
        die_usage("%s: --budget=%s: a period of less than 1ms is too short to be kept", x->command, given);
    if (!(b.seconds > 0))
        die_usage("%s: --budget=%s leaves no time to record anything", x->command, given);
    if (b.seconds >= b.period)
        die_usage("%s: --budget=%s is all of the time: leave the option out", x->command, given);
    return b;
}

static const char *const scope_names[] = {"thread", "process"};
static const char *const policy_names[] = {[POLICY_timer] = "timer",
                                           [POLICY_tv] = "tv",
                                           [POLICY_tvc] = "tvc",
                                           [POLICY_tc] = "tc"};

static void set_budget(struct choices *x, const char *given)
{
    struct budget b = read_budget(x, given);
    x->budget.seconds = b.seconds;
    x->budget.period = b.period;
}

bool choices_option(struct choices *x, int c)
{
    switch (c) {
    case OPT_FUNCTION:
        add(x, CHOICE_function, optarg);
        return true;
    case OPT_MODULE:
        add(x, CHOICE_module, optarg);
        return true;
    case OPT_SOURCE:
        add_source(x, optarg);
        return true;
    case OPT_RANGE:
        add_range(x, optarg);
        return true;
    case OPT_TRIGGER:
        add(x, CHOICE_trigger, optarg);
        return true;
    case OPT_COUNT:
        x->count = (u32)option_number(x->command, "count", "a number of calls", optarg);
        if (!x->count)
            die_usage("%s: --count=0 makes no sense: the first call is 1", x->command);
        return true;
    case OPT_MARKS:
        x->by_marks = true;
        return true;
    case OPT_ONLY:
        x->only = true;
        return true;
    case OPT_AFTER:
        x->after = option_seconds(x->command, "after", optarg);
        return true;
    case OPT_FOR:
        x->seconds = option_seconds(x->command, "for", optarg);
        return true;
    case OPT_BUDGET:
        set_budget(x, optarg);
        return true;
    case OPT_BUDGET_SCOPE:
        x->budget.is_shared = option_word("budget-scope", optarg, scope_names, ARRAY_LEN(scope_names));
        return true;
    case OPT_BUDGET_POLICY:
        x->budget.policy = option_word("budget-policy", optarg, policy_names, ARRAY_LEN(policy_names));
        return true;
    case OPT_NOVEL:
        x->novel = DEFAULT_NOVEL;
        if (optarg)
            x->novel = (u32)MIN(option_number(x->command, "novel", "how often code is recorded", optarg), (u64)UINT32_MAX);
        if (!x->novel || x->novel > UINT8_MAX)
            die_usage("%s: --novel=%s: code can be recorded from 1 to %d times before it is familiar", x->command, optarg, UINT8_MAX);
        return true;
    case OPT_MAX_REFS:
        x->max_refs = option_number(x->command, "max-refs", "a number of references", optarg);
        if (!x->max_refs)
            die_usage("%s: --max-refs=0 would record nothing", x->command);
        return true;
    }
    return false;
}

/* -- Near names -------------------------------------------------------------------------------- */

/* How many letters must be put in, taken out or changed; a name that only has more around it is near. */
static u32 distance(const char *a, const char *b)
{
    enum { LONGEST = 79 };
    u32 row[LONGEST + 1], n = (u32)strlen(b);
    if (strstr(b, a))
        return 1;
    if (n > LONGEST || strlen(a) > LONGEST)
        return UINT32_MAX;
    for (u32 j = 0; j <= n; j++)
        row[j] = j;
    for (u32 i = 0; a[i]; i++) {
        u32 corner = row[0];
        row[0] = i + 1;
        for (u32 j = 0; j < n; j++) {
            u32 change = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = MIN(change, MIN(row[j], row[j + 1]) + 1);
        }
    }
    return row[n];
}

/* Keep the nearest, each once. */
static void see_name(void *choice, const char *name, u64 offset, u64 size)
{
    struct choice *c = choice;
    struct near x = {.distance = distance(c->name, name)};
    (void)offset;
    (void)size;
    if (x.distance > strlen(c->name) / 3 + 1)
        return;
    snprintf(x.name, sizeof x.name, "%s", name);
    for (size_t i = 0; i < ARRAY_LEN(c->near); i++) {
        struct near *at = &c->near[i], old = *at;
        if (!strcmp(at->name, x.name))
            return;
        if (at->name[0] && at->distance <= x.distance)
            continue;
        *at = x;
        x = old;
        if (!x.name[0])
            return;
    }
}

/* -- Finding ----------------------------------------------------------------------------------- */

struct finding {
    const struct choices *choices;
    struct choice *choice;
    const struct trace_module *module;
    struct stretches *found;
};

/* What stands at an offset of the module's file is recorded, or triggers that, if this mapping has it. */
static void select_code(struct finding *f, u64 offset, u64 size, bool is_function)
{
    const struct trace_module *m = f->module;
    if (offset < m->offset || offset - m->offset >= m->end - m->start)
        return;
    u64 start = m->start + (offset - m->offset), end = MIN(start + size, m->end);
    f->choice->found = true;
    if (f->choice->kind == CHOICE_trigger) {
        vec_push(f->found, ((struct stretch){start, start + 1, SPOT_TELL}));
        return;
    }
    if (is_function)
        vec_push(f->found, ((struct stretch){start, start + 1, SPOT_HEAD}));
    if (!is_function || f->choices->only)
        vec_push(f->found, ((struct stretch){start, end, SPOT_SELECTED}));
}

static void see_function(void *finding, const char *name, u64 offset, u64 size)
{
    (void)name;
    select_code(finding, offset, size, true);
}

static void see_line(void *finding, const char *path, u64 offset, u64 size)
{
    (void)path;
    select_code(finding, offset, size, false);
}

static bool is_module(const struct trace_module *m, const char *pattern)
{
    const char *slash = strrchr(m->path, '/');
    return !fnmatch(pattern, m->path, 0) || !fnmatch(pattern, slash ? slash + 1 : m->path, 0);
}

static void find_in(struct finding *f, struct image *image)
{
    struct choice *c = f->choice;
    switch (c->kind) {
    case CHOICE_function:
    case CHOICE_trigger:
        image_match(image, c->name, see_function, f);
        if (!c->found)
            image_match(image, "*", see_name, c);
        return;
    case CHOICE_source:
        image_lines(image, c->name, c->from, c->to, see_line, f);
        return;
    case CHOICE_module:
        if (is_module(f->module, c->name))
            select_code(f, f->module->offset, f->module->end - f->module->start, false);
        return;
    default:
        return;
    }
}

static void find(void *ctx, const struct trace_module *m, struct stretches *found)
{
    struct choices *x = ctx;
    pthread_mutex_lock(&x->lock);
    struct image *image = image_open(m->path, m->build_id);
    for (size_t i = 0; i < x->list.n; i++)
        find_in(&(struct finding){x, &x->list.v[i], m, found}, image);
    image_close(image);
    pthread_mutex_unlock(&x->lock);
}

/* -- Before and after a run --------------------------------------------------------------------- */

static const char *const kind_names[] = {[CHOICE_function] = "function",
                                         [CHOICE_module] = "module",
                                         [CHOICE_source] = "source",
                                         [CHOICE_range] = "range",
                                         [CHOICE_trigger] = "trigger"};

/* What is wrong with a choice that found nothing. */
static void explain(const struct choice *c, char *text, size_t room)
{
    const struct near *n = c->near;
    int k = snprintf(text, room, "--%s=%s: the program has no such code", kind_names[c->kind], c->given);
    if (c->kind == CHOICE_source)
        k += snprintf(text + k, room - (size_t)k, ", or no debug information; compile with -g");
    for (size_t i = 0; i < ARRAY_LEN(c->near) && n[i].name[0] && k > 0 && (size_t)k < room; i++)
        k += snprintf(text + k, room - (size_t)k, "%s%s", i ? ", " : "; did you mean ", n[i].name);
}

bool choices_report(const struct choices *x)
{
    char text[512];
    bool any = !x->list.n;
    for (size_t i = 0; i < x->list.n; i++) {
        any |= x->list.v[i].found;
        if (x->list.v[i].found)
            continue;
        explain(&x->list.v[i], text, sizeof text);
        warn("%s", text);
    }
    return any;
}

/* A process that runs has its code already. */
static void look_at_process(struct choices *x, pid_t pid)
{
    char path[64], line[4400], file[4096];
    struct stretches found = {0};
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "re");
    if (!f) /* whoever attaches will say why */
        return;
    while (fgets(line, sizeof line, f)) {
        unsigned long start, end, offset;
        char perms[5];
        if (sscanf(line, "%lx-%lx %4s %lx %*s %*s %4095[^\n]", &start, &end, perms, &offset, file) == 5 &&
            perms[2] == 'x') {
            char none[] = "";
            struct trace_module m = {
                .start = start, .end = end, .offset = offset, .path = file, .build_id = none};
            find(x, &m, &found);
        }
    }
    fclose(f);
    vec_fini(&found);
    if (!choices_report(x))
        exit(1);
}

void choices_apply(struct choices *x, struct run_options *o)
{
    bool scopes = false, places = false, triggers = false;
    for (size_t i = 0; i < x->list.n; i++) {
        bool trigger = x->list.v[i].kind == CHOICE_trigger, scope = x->list.v[i].kind == CHOICE_function && !x->only;
        triggers |= trigger;
        scopes |= scope;
        places |= !scope && !trigger;
    }
    if (x->count && !triggers)
        die_usage("%s: --count is for --trigger, and there is none", x->command);
    if ((x->after > 0) + triggers + x->by_marks > 1)
        die_usage("%s: --after, --trigger and --marks each say when recording begins; choose one", x->command);
    if (x->only && !x->list.n)
        die_usage("%s: --only is for --function, and there is none", x->command);
    if (scopes && places)
        die_usage("%s: a --function is recorded with all it calls, other code without; with --only, "
                  "both are recorded without",
                  x->command);
    if ((x->budget.is_shared || x->budget.policy) && !(x->budget.seconds > 0))
        die_usage("%s: there is no --budget that --budget-scope or --budget-policy could be about", x->command);
    if (x->novel && scopes)
        die_usage("%s: a --function is recorded with all it calls, whether that is --novel or not; with --only, "
                  "only its own new code is recorded",
                  x->command);
    bool is_partial = x->list.n || x->novel || x->by_marks || x->after > 0 || x->max_refs || x->seconds > 0 || x->budget.seconds > 0;
    if (is_partial && o->events == EVENTS_none)
        die_usage("%s: with --events=none nothing is recorded that could be selected", x->command);
    o->after = x->after;
    o->seconds = x->seconds;
    o->max_refs = x->max_refs;
    if (o->leave > 0 && !(x->seconds > 0))
        die_usage("%s: --leave is for windows that end by themselves; say how long they are with --for",
                  x->command);
    o->budget = x->budget;
    o->novel = x->novel;
    o->by_marks = x->by_marks;
    o->trigger = triggers ? MAX(x->count, 1u) : 0;
    if (!x->list.n)
        return;
    x->selector.ctx = x;
    x->selector.find = find;
    x->selector.kind = scopes ? SELECT_scopes : places ? SELECT_places : SELECT_all;
    o->selector = &x->selector;
    if (o->attach)
        look_at_process(x, o->attach);
}
