/* SPDX-License-Identifier: MIT */
/* gait.h: everything that a program does, for your own analysis. gait.h(3) is the manual.
 *
 * Two ways. A tool is a shared object with a `struct gait_tool gait_tool` in it; gait gives it the events of a trace or of a program
 * while that runs, on as many threads as the tool allows, and shows its tables:
 *
 *     cc -shared -fPIC $(pkg-config --cflags gait) -o mine.so mine.c
 *     gait tool ./mine.so -- PROGRAM          gait tool ./mine.so TRACE
 *
 * Or a program of your own asks for the events, batch by batch, with gait_open or gait_start, gait_next and gait_close, and is linked
 * with libgait ($(pkg-config --libs gait)). */
#ifndef GAIT_H
#define GAIT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define GAIT_API 1 /* goes up when something here changes its meaning */

/* -- Events --------------------------------------------------------------------------------------- */

enum gait_kind { GAIT_LOAD, GAIT_STORE, GAIT_MODIFY /* reads, then writes */ };

/* An instruction of a process's code; its number is its place in gait_batch.insns. The same instruction may have several. */
struct gait_insn {
    uint64_t pc;
    uint32_t bytes; /* its bytes are at gait_batch.code + bytes */
    uint32_t length;
};

/* Instructions that ran one after the other: those with the numbers insn .. insn + n_insns - 1. The next one's pc tells whether a branch
 * was taken. */
struct gait_run {
    uint32_t insn, n_insns;
    uint32_t access, n_accesses; /* what they read and wrote, in order */
};

struct gait_access {
    uint64_t address;
    uint32_t insn;  /* number of the instruction */
    uint16_t bytes; /* size */
    uint8_t kind;   /* enum gait_kind */
    uint8_t zero;
};

/* Something that is no instruction, before the run of this number. */
enum gait_mark_kind {
    GAIT_MARK_SYSCALL,   /* number, result, time stamp */
    GAIT_MARK_SIGNAL,    /* signal number, handler, the pc it interrupted, time stamp: the handler begins */
    GAIT_MARK_SIGRETURN, /* pc that is gone back to, time stamp */
    GAIT_MARK_STATE,     /* rsp, fs base, gs base, time stamp */
    GAIT_MARK_STEPPED,   /* pc, pc after it, time stamp: an instruction ran of which nothing else is known */
    GAIT_MARK_NATIVE,    /* reason, time stamp: nothing more will be seen of this thread */
    GAIT_MARK_LOST,      /* bytes of records, time stamp: something is missing here */
    GAIT_MARK_RESUMED,   /* rsp, fs base, gs base, time stamp or 0: what came before was not selected */
    GAIT_MARK_ENTERED,   /* the same; a selected function begins */
    GAIT_MARK_MARK,      /* number, time stamp: the program has passed a gait_mark() */
    GAIT_MARK_PAUSED,    /* ticks used, these less the budget (below 0: not all of it), ticks in a second, time stamp */
};
struct gait_mark {
    uint32_t kind, run;
    uint64_t value[4];
};

/* Some events of one thread. An instruction that makes very many accesses may go on in the thread's next batch: these then come first in
 * it, and the instruction is not counted again. */
struct gait_batch {
    uint32_t process, thread; /* numbers, from 0, as gait info shows them; of processes that share a memory, that of the first */
    uint32_t n_runs, n_accesses, n_marks;
    uint32_t n_insns; /* how many instructions have numbers so far */
    const struct gait_run *runs;
    const struct gait_access *accesses;
    const struct gait_mark *marks;
    const struct gait_insn *insns; /* of this process; stays where it is, and only grows */
    const uint8_t *code;           /* their bytes; the same */
};

/* -- Results -------------------------------------------------------------------------------------- */

struct gait_result;
struct gait_table;

enum gait_table_kind {
    GAIT_FACTS,  /* one row, shown one cell to a line; further rows are not shown */
    GAIT_ROWS,   /* what matters most comes first: people see the first --top of them */
    GAIT_SERIES, /* the first column goes up; all rows are shown */
};
enum gait_cell {
    GAIT_TEXT,    /* const char *, which is copied; NULL: not known */
    GAIT_COUNT,   /* uint64_t */
    GAIT_ADDRESS, /* uint64_t, shown in hexadecimal */
    GAIT_NUMBER,  /* double */
    GAIT_PERCENT, /* double, of 100 */
};

struct gait_table *gait_table(struct gait_result *r, enum gait_table_kind kind, const char *name, const char *title);
/* Before the first row. */
void gait_column(struct gait_table *t, enum gait_cell type, const char *name);
/* A cell for each column, of exactly its type: (uint64_t)1, not 1. */
void gait_row(struct gait_table *t, ...);

/* Where an address of a process's code is; texts live as long as the result, and are NULL where nothing is known. */
struct gait_place {
    const char *module, *function, *file;
    uint32_t line;
    uint64_t offset; /* in the module's file; the address itself where there is no module */
};
struct gait_place gait_where(struct gait_result *r, uint32_t process, uint64_t pc);

/* Counts of instructions, which nearly every tool wants: so many (1 to 16) for each, of all processes. */
struct gait_counts;
struct gait_counts *gait_counts(uint32_t each);
/* Those of a batch's process: the counts of instruction i begin at [i * each]. They may move with the next call. */
uint64_t *gait_counts_of(struct gait_counts *c, const struct gait_batch *b);
/* Those of one instruction; NULL if gait_counts_of has seen no batch with it. */
uint64_t *gait_counts_at(struct gait_counts *c, uint32_t process, uint32_t insn);
/* Add `from` to `into`, and free it. */
void gait_counts_merge(struct gait_counts *into, struct gait_counts *from);
/* Make a table of them, whose columns have these names, and free them: the counts of a function, a source line or an instruction are added
 * up, and the rows with the most of the first come first. */
enum gait_by { GAIT_BY_FUNCTION, GAIT_BY_LINE, GAIT_BY_INSTRUCTION };
void gait_counts_table(struct gait_counts *c, struct gait_result *r, enum gait_by by, const char *name, const char *title,
                       const char *const *columns);

/* -- Tools ---------------------------------------------------------------------------------------- */

/* What each of several states of a tool gets to see, in order. How many there are is up to whoever runs it (-j), and may be one. */
enum gait_split {
    GAIT_SPLIT_NONE,    /* there is only one state, and it sees everything */
    GAIT_SPLIT_TIME,    /* some of the batches each */
    GAIT_SPLIT_THREAD,  /* all batches of some of the program's threads */
    GAIT_SPLIT_ADDRESS, /* of all batches the accesses to some addresses, in pieces of gait_tool.split_bytes: an access to several pieces
                           is cut, even if there is one state. Runs, which have no accesses then, and marks come to the first state only. */
};

struct gait_option {
    const char *name, *value /* if it is not given */, *what;
};

struct gait_setup; /* what the options were set to */
const char *gait_option(const struct gait_setup *s, const char *name);
/* Cannot begin: say why, and return NULL from begin. */
void gait_refuse(struct gait_setup *s, const char *why);

struct gait_tool {
    uint32_t api; /* GAIT_API */
    const char *name;
    const struct gait_option *options; /* up to one without a name; NULL: none */
    enum gait_split split;
    uint32_t split_bytes; /* a power of two, for GAIT_SPLIT_ADDRESS */
    /* Make a state. */
    void *(*begin)(struct gait_setup *s);
    /* Each state has one caller at a time; different states have different ones. */
    void (*batch)(void *state, const struct gait_batch *b);
    /* At the end: add `from` to `into`, and free it. Not called for GAIT_SPLIT_NONE. */
    void (*merge)(void *into, void *from);
    /* Make tables of what is in the state, and free it. */
    void (*finish)(void *state, struct gait_result *r);
};

/* The one that gait looks for in a shared object. */
extern const struct gait_tool gait_tool;

/* -- Asking for the events yourself ------------------------------------------------------------------ */

struct gait;

/* A trace, or a program (argv: NULL-terminated) that is run now, as a child of a child of this process. NULL with a sentence in `why`. */
struct gait *gait_open(const char *trace, char *why, size_t room);
struct gait *gait_start(char *const *argv, char *why, size_t room);
/* The next batch, which lives until the next call: 1; 0 at the end; -1 with a sentence in gait_trouble, and nothing after it. */
int gait_next(struct gait *g, struct gait_batch *b);
const char *gait_trouble(const struct gait *g);
/* Where an address is; texts live until gait_close. Of a program that is run: when gait_next has returned 0. */
struct gait_place gait_find(struct gait *g, uint32_t process, uint64_t pc);
/* After gait_start: the program goes on to its end, unseen if it has not ended yet; its status as from waitpid, or -1 if what watched it has
 * died. After gait_open: 0. */
int gait_close(struct gait *g);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
