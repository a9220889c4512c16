/* SPDX-License-Identifier: MIT */
/* gait's front door: find the command, or help. */
#include "analyze/analysis.h"
#include "cmd/cmd.h"

#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name, *args, *what;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CMD(name, args, what) {#name, args, what, cmd_##name},
#include "cmd/commands.def"
#undef CMD
#define ANALYSIS(name, what) {#name, "[OPTION].. TRACE | -- PROGRAM [ARG]...", what, cmd_analyze},
#include "analyze/analyses.def"
#undef ANALYSIS
};

/* -- Help ------------------------------------------------------------------------------------ */

static const struct command *find_command(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    die_usage("there is no command %s", name);
}

static int help(void)
{
    puts("gait sees everything a program does: every instruction and every memory reference.\n");
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        printf("  gait %s %s\n      %s\n", commands[i].name, commands[i].args, commands[i].what);
    puts("\n  gait help COMMAND\n  gait --version");
    stdout_flush();
    return 0;
}

static int help_on(const char *name)
{
    const struct command *c = find_command(name);
    const struct analysis *a = analysis_find(name);
    printf("usage: gait %s %s\n\n%s; see also gait-%s(1)\n", c->name, c->args, c->what, c->name);
    for (const struct analysis_option *o = a ? a->options : NULL; o && o->name; o++)
        printf("%s  --%s%s%s\n      %s\n", o == a->options ? "\n" : "", o->name,
               o->argument ? " " : "", o->argument ? o->argument : "", o->what);
    stdout_flush();
    return 0;
}

static int version(void)
{
    puts("gait " GAIT_VERSION);
    stdout_flush();
    return 0;
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        die_usage("no command was given");
    if (!strcmp(word, "--help") || !strcmp(word, "-h"))
        return help();
    if (!strcmp(word, "--version"))
        return version();
    if (!strcmp(word, "help"))
        return argc > 2 ? help_on(argv[2]) : help();
    if (word[0] == '-')
        die_usage("the option %s is unknown", word);
    if (argc > 2 && !strcmp(argv[2], "--help"))
        return help_on(word);
    return find_command(word)->run(argc - 1, argv + 1);
}
