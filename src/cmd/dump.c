/* SPDX-License-Identifier: MIT */
/* gait dump: a trace's events as lines, for eyes (text) or for comparison (lackey; docs/events.md).
 */
#include "cmd/cmd.h"
#include "cmd/lines.h"
#include "wire/wire.h"

#include <string.h>
#include <unistd.h>

static const struct option options[] = {
    {"limit", required_argument, NULL, 'n'},   {"format", required_argument, NULL, 'f'},
    {"process", required_argument, NULL, 'p'}, {"thread", required_argument, NULL, 't'},
    {"from", required_argument, NULL, 'b'},    {0},
};

/* -- Text ------------------------------------------------------------------------------------ */

/* Move what stands from `from` to p to the right end of a column. */
static char *align_right(char *from, char *p, int width)
{
    int n = (int)(p - from);
    if (n >= width)
        return p;
    memmove(from + width - n, from, (size_t)n);
    memset(from, ' ', (size_t)(width - n));
    return from + width;
}

static char *put_thread(char *p, u32 thread)
{
    return put_text(align_right(p, put_dec(p, thread), 6), "  ");
}

static char *put_event(char *p, const struct place *at, const char *what, u64 address, u32 size)
{
    p = put_thread(p, at->thread);
    p = put_text(align_right(p, put_hex(p, at->insn->pc, 1), 16), "  ");
    p = put_text(p, what);
    p = align_right(p, put_hex(p, address, 1), 18);
    return align_right(p, put_dec(p, size), 6);
}

static bool text_insn(struct lines *l, const struct place *at)
{
    return line_end(l, put_event(line_begin(l), at, "exec  ", at->insn->pc, at->insn->len));
}

static char *put_ref(char *p, const struct place *at, u8 kind, u64 address, u32 size)
{
    static const char *const words[] = {"load  ", "store ", "modify"};
    return put_event(p, at, words[kind], address, size);
}

static bool text_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    return line_end(l, put_ref(line_begin(l), at, kind, address, size));
}

/* The same of a trace with values. */
static bool value_ref(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size)
{
    char *p = put_text(put_ref(line_begin(l), at, kind, address, size), "  ");
    return line_end(l, put_values(p, at, kind == REF_MODIFY ? " -> " : "", "", ""));
}

/* A guest's record: its name and its slots. */
static char *put_guest_record(char *p, const struct walk *w, u32 i)
{
    static const struct {
        const char *name;
        u32 slots;
    } records[FIRST_EXIT_ID] = {
#define RECORD(name, id, slots, what) [id] = {#name, slots},
#include "wire/records.def"
#undef RECORD
    };
    u32 id = w->batch->exit[i];
    p = put_text(p, records[id].name ? records[id].name : "?");
    for (u32 s = 0; s < records[id].slots; s++)
        p = put_hex(put_text(p, " "), walk_slot(w, i, s), 1);
    return p;
}

static bool text_guest(struct lines *l, const struct walk *w, u32 i)
{
    char *p = put_thread(line_begin(l), walk_thread(w));
    p = align_right(p, put_text(p, "-"), 16);
    return line_end(l, put_guest_record(put_text(p, "  "), w, i));
}

static const struct form text_form = {.insn = text_insn, .ref = text_ref, .guest = text_guest};
static const struct form value_form = {.insn = text_insn, .ref = value_ref, .guest = text_guest};

/* -- The command ----------------------------------------------------------------------------- */

/* KIND:NUMBER */
static void read_from(const char *arg, struct wanted *what)
{
    static const char *const kinds[] = {
        [FROM_record] = "record:", [FROM_instruction] = "instruction:", [FROM_time] = "time:"};
    for (u32 i = 0; i < ARRAY_LEN(kinds); i++) {
        size_t n = strlen(kinds[i]);
        if (strncmp(arg, kinds[i], n) == 0) {
            what->by = (enum from)i;
            what->from = option_number("dump", "from", "a number behind its colon", arg + n);
            return;
        }
    }
    die_usage("dump: --from takes record:N, instruction:N or time:N, not %s", arg);
}

int cmd_dump(int argc, char **argv)
{
    static const char *const formats[] = {"text", "lackey"};
    struct wanted what = {.process = UINT64_MAX, .thread = UINT64_MAX};
    u64 limit = UINT64_MAX;
    bool lackey = false;
    struct lines l;
    struct trace t;
    struct err e;
    for (int c; (c = next_option(argc, argv, "n:", options)) != -1;) {
        if (c == 'n')
            limit = option_number("dump", "limit", "a number of lines", optarg);
        else if (c == 'p')
            what.process = option_number("dump", "process", "the number of a process", optarg);
        else if (c == 't')
            what.thread = option_number("dump", "thread", "the number of a thread", optarg);
        else if (c == 'b')
            read_from(optarg, &what);
        else
            lackey = option_word("format", optarg, formats, ARRAY_LEN(formats)) == 1;
    }
    if (trace_open(&t, only_argument(argc, argv, "TRACE"), &e))
        die("%s", e.text);
    require_wanted(&t, what);
    lines_init(&l, STDOUT_FILENO, "standard output");
    l.limit = limit;
    bool has_values = trace_has_values(&t);
    if (!lackey)
        lines_head(&l, has_values ? "thread                pc  event            address  size  value\n" : "thread                pc  event            address  size\n");
    if (limit)
        lines_of_trace(&l, &t, lackey ? &lackey_form : has_values ? &value_form : &text_form, what);
    lines_fini(&l);
    trace_close(&t);
    return 0;
}
