/* SPDX-License-Identifier: MIT */
/* gait export: a trace's events in the formats of other tools.
 *
 *   lackey    as gait dump prints them
 *   din       Dinero's plain text: a label (0 read, 1 write, 2 instruction) and an address; a modify is a
 *             read and a write; sizes are not told, and an access across a block is one line
 *   champsim  cmd/champsim.c
 *   csv       thread, pc, kind, address, size; of a trace with values, what was read and what was written, too */
#include "cmd/champsim.h"
#include "cmd/cmd.h"
#include "cmd/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option options[] = {
    {"to", required_argument, NULL, 'f'},
    {"output", required_argument, NULL, 'o'},
    {"process", required_argument, NULL, 'p'},
    {"thread", required_argument, NULL, 't'},
    {0},
};

/* -- Din ------------------------------------------------------------------------------------- */

static bool din_line(struct lines *l, const char *label, u64 address)
{
    return line_end(l, put_hex(put_text(line_begin(l), label), address, 1));
}

static bool din_insn(struct lines *l, const struct place *at)
{
    return din_line(l, "2 ", at->insn->pc);
}

static bool din_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    (void)at;
    (void)size;
    return (kind == REF_STORE || din_line(l, "0 ", address)) &&
           (kind == REF_LOAD || din_line(l, "1 ", address));
}

static const struct form din_form = {.insn = din_insn, .ref = din_ref};

/* -- CSV ------------------------------------------------------------------------------------- */

static char *put_csv(char *p, const struct place *at, const char *what, u64 address, u32 size)
{
    p = put_dec(p, at->thread);
    p = put_hex(put_text(p, ",0x"), at->insn->pc, 1);
    p = put_hex(put_text(p, what), address, 1);
    *p++ = ',';
    return put_dec(p, size);
}

static char *put_csv_ref(char *p, const struct place *at, u8 kind, u64 address, u32 size)
{
    static const char *const words[] = {",load,0x", ",store,0x", ",modify,0x"};
    return put_csv(p, at, words[kind], address, size);
}

static bool csv_insn(struct lines *l, const struct place *at)
{
    return line_end(l, put_csv(line_begin(l), at, ",exec,0x", at->insn->pc, at->insn->len));
}

static bool csv_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    return line_end(l, put_csv_ref(line_begin(l), at, kind, address, size));
}

static const struct form csv_form = {.insn = csv_insn, .ref = csv_ref};

static bool value_insn(struct lines *l, const struct place *at)
{
    return line_end(l, put_text(put_csv(line_begin(l), at, ",exec,0x", at->insn->pc, at->insn->len), ",,"));
}

static bool value_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    char *p = put_text(put_csv_ref(line_begin(l), at, kind, address, size), ",");
    return line_end(l, put_values(p, at, ",", "0x", ""));
}

static const struct form csv_value_form = {.insn = value_insn, .ref = value_ref};

/* -- The command ----------------------------------------------------------------------------- */

enum { TO_LACKEY, TO_DIN, TO_CHAMPSIM, TO_CSV, TO_LIMIT };
static const char *const format_names[TO_LIMIT] = {"lackey", "din", "champsim", "csv"};
static const struct form *const forms[TO_LIMIT] = {&lackey_form, &din_form, &champsim_form,
                                                   &csv_form};

/* Open the output, which must not be the trace itself. */
static int open_output(const char *path, const char *trace)
{
    struct stat in, out;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || fstat(fd, &out))
        die("cannot write %s: %s", path, strerror(errno));
    if (!stat(trace, &in) && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        die("%s is the trace itself; choose another output", path);
    if (S_ISREG(out.st_mode) && ftruncate(fd, 0))
        die("cannot write %s: %s", path, strerror(errno));
    return fd;
}

/* The file of lines, ready for them. */
static void begin(struct lines *l, u32 format, bool values, const char *output, const char *trace)
{
    if (!output && format == TO_CHAMPSIM && isatty(STDOUT_FILENO))
        die_usage("export: ChampSim's records are not for a terminal; give -o FILE");
    if (output)
        lines_init(l, open_output(output, trace), output);
    else
        lines_init(l, STDOUT_FILENO, "standard output");
    if (format == TO_CSV)
        lines_head(l, values ? "thread,pc,kind,address,size,read,written\n" : "thread,pc,kind,address,size\n");
}

int cmd_export(int argc, char **argv)
{
    struct wanted what = {.process = UINT64_MAX, .thread = UINT64_MAX};
    u32 format = TO_LIMIT;
    const char *output = NULL, *path;
    struct champsim *champsim = NULL;
    struct lines l;
    struct trace t;
    struct err e;
    for (int c; (c = next_option(argc, argv, "o:", options)) != -1;) {
        if (c == 'o')
            output = optarg;
        else if (c == 'p')
            what.process = option_number("export", "process", "the number of a process", optarg);
        else if (c == 't')
            what.thread = option_number("export", "thread", "the number of a thread", optarg);
        else
            format = option_word("to", optarg, format_names, TO_LIMIT);
    }
    if (format == TO_LIMIT)
        die_usage("export: --to must say in which format: lackey, din, champsim or csv");
    path = only_argument(argc, argv, "TRACE");
    if (trace_open(&t, path, &e))
        die("%s", e.text);
    require_wanted(&t, what);
    bool values = trace_has_values(&t);
    begin(&l, format, values, output, path);
    if (format == TO_CHAMPSIM)
        champsim = champsim_begin(&l, &t);
    lines_of_trace(&l, &t, format == TO_CSV && values ? &csv_value_form : forms[format], what);
    if (output && close(l.fd))
        die("cannot write %s: %s", output, strerror(errno));
    champsim_free(champsim);
    lines_fini(&l);
    trace_close(&t);
    return 0;
}
