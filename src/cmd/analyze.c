/* SPDX-License-Identifier: MIT */
/* gait analyze, and each analysis as a command of its own: of a trace, or of a program while it runs. */
#include "cmd/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPT_SET = OPT_OWN, OPT_ANALYSIS };
static const struct option common[] = {
    SESSION_OPTIONS,
    {"analyses", required_argument, NULL, 'a'}, /* these two of `analyze` only */
    {"set", required_argument, NULL, OPT_SET},
};

/* -- Options ----------------------------------------------------------------------------------- */

static void add_analysis(struct session *s, const char *name)
{
    const struct analysis *a = analysis_find(name);
    if (!a)
        die_usage("%s: there is no analysis %s", s->command, name);
    for (u32 i = 0; i < s->n; i++)
        if (s->analyses[i] == a)
            return;
    check(s->n < SESSION_ANALYSES);
    s->studies[s->n] = a->make();
    s->analyses[s->n++] = a;
}

static void add_analyses(struct session *s, char *names)
{
    for (char *rest = names, *name; (name = strsep(&rest, ","));)
        add_analysis(s, name);
}

static void set_option(struct session *s, u32 i, const char *option, const char *value)
{
    struct err e;
    const char *name = s->analyses[i]->name;
    bool own = !strcmp(s->command, name);
    if (s->analyses[i]->set(s->studies[i], option, value, &e))
        die_usage("%s: %s%s%s %s", s->command, own ? "--" : name, own ? "" : ".", option, e.text);
}

static const struct analysis_option *find_option(const struct analysis *a, const char *name)
{
    for (const struct analysis_option *o = a->options; o && o->name; o++)
        if (!strcmp(o->name, name))
            return o;
    return NULL;
}

/* ANALYSIS.OPTION=VALUE, or without =VALUE if it takes none. */
static void set_dotted(struct session *s, char *text)
{
    char *value = strchr(text, '='), *option = strchr(text, '.');
    if (value)
        *value++ = 0;
    if (!option || (value && option > value))
        die_usage("%s: --set wants ANALYSIS.OPTION=VALUE, not %s", s->command, text);
    *option++ = 0;
    for (u32 i = 0; i < s->n; i++) {
        if (strcmp(s->analyses[i]->name, text))
            continue;
        const struct analysis_option *o = find_option(s->analyses[i], option);
        if (!o)
            die_usage("%s: %s has no option %s", s->command, text, option);
        if (!o->argument != !value)
            die_usage("%s: the option %s of %s %s", s->command, option, text,
                      value ? "takes no value" : "wants a value");
        set_option(s, i, option, value ? value : "");
        return;
    }
    die_usage("%s: %s is not among the analyses; name it with -a first", s->command, text);
}

/* The common options, and those of the analysis if the command is one. */
static const struct option *make_options(const struct analysis *a)
{
    static struct option all[ARRAY_LEN(common) + 32];
    u32 n = 0;
    for (u32 i = 0; i < ARRAY_LEN(common); i++)
        if (!a || (common[i].val != 'a' && common[i].val != OPT_SET))
            all[n++] = common[i];
    for (const struct analysis_option *o = a ? a->options : NULL; o && o->name; o++) {
        check(n + 1 < ARRAY_LEN(all));
        all[n++] = (struct option){o->name, o->argument ? required_argument : no_argument, NULL,
                                   OPT_ANALYSIS + (int)(o - a->options)};
    }
    all[n] = (struct option){0};
    return all;
}

static void read_options(struct session *s, int argc, char **argv)
{
    const struct analysis *own = s->n ? s->analyses[0] : NULL;
    const struct option *options = make_options(own);
    for (int c; (c = next_option(argc, argv, own ? SESSION_SHORTS : SESSION_SHORTS "a:", options)) != -1;) {
        if (session_option(s, c))
            continue;
        if (c == 'a')
            add_analyses(s, optarg);
        else if (c == OPT_SET)
            set_dotted(s, optarg);
        else
            set_option(s, 0, own->options[c - OPT_ANALYSIS].name, optarg ? optarg : "");
    }
}

/* -- Results ----------------------------------------------------------------------------------- */

/* Results of several analyses have the analysis before the names of their tables. */
static void qualify(struct result *r, size_t from, const char *name)
{
    char text[256];
    for (size_t i = from; i < r->tables.n; i++) {
        snprintf(text, sizeof text, "%s.%s", name, r->tables.v[i]->name);
        r->tables.v[i]->name = result_text(r, text);
        snprintf(text, sizeof text, "%s: %s", name, r->tables.v[i]->title);
        r->tables.v[i]->title = result_text(r, text);
    }
}

static int show(struct session *s)
{
    struct sources sources;
    struct result r = {.top = session_top(s)};
    sources_init(&sources, s->modules, s->n_modules);
    for (u32 i = 0; i < s->n; i++) {
        size_t from = r.tables.n;
        s->analyses[i]->finish(s->studies[i], &sources, &r);
        if (s->n > 1)
            qualify(&r, from, s->analyses[i]->name);
    }
    s->print(s->results, &r, session_top(s));
    if (fflush(s->results) || ferror(s->results))
        die("what was found cannot be written: %s", strerror(errno));
    int status = r.failed ? -1 : 0;
    result_fini(&r);
    sources_fini(&sources);
    return status;
}

int cmd_analyze(int argc, char **argv)
{
    struct session s;
    session_init(&s, argv[0]);
    if (strcmp(argv[0], "analyze"))
        add_analysis(&s, argv[0]);
    read_options(&s, argc, argv);
    if (!s.n)
        die_usage("analyze: no analysis was given; name some with -a");
    int status = session_run(&s, argc, argv, show);
    for (u32 i = 0; i < s.n; i++)
        s.analyses[i]->drop(s.studies[i]);
    return status;
}
