/* SPDX-License-Identifier: MIT */
/* Events on their way out, one line or record each: a buffer, what is put into it, and the walk that
 * visits every event. Traces have billions of them: no stdio, no formats. */
#ifndef LINES_H
#define LINES_H

#include "decode/walk.h"

enum { LINE_LIMIT = 2304 /* bytes of the longest line: an fxsave with its value */ };

struct lines {
    char *buf;
    size_t n;
    u64 count, limit; /* lines ended, lines wanted */
    int fd;
    const char *where; /* the fd's name, for people */
    void *own;         /* whatever the form keeps */
};

/* Where an event stands: instruction k of the unit that record i of the walk's batch ran. */
struct place {
    const struct walk *walk;
    u32 record, k;
    u32 j; /* of a reference: which of the batch */
    u32 thread;
    const struct unit_insn *insn;
};

/* What to make of each event. False: no more are wanted. */
struct form {
    bool (*insn)(struct lines *l, const struct place *at);
    bool (*ref)(struct lines *l, const struct place *at, u8 kind, u64 address, u32 size);
    bool (*guest)(struct lines *l, const struct walk *w, u32 i); /* or NULL: a guest's record */
    void (*end)(struct lines *l);                                /* or NULL: after the last event */
};

/* Where to begin among the events that are wanted: at a record, an instruction, or a time stamp. */
enum from { FROM_record, FROM_instruction, FROM_time };

/* Which events; UINT64_MAX stands for all. */
struct wanted {
    u64 process, thread;
    enum from by;
    u64 from;
};

/* The lines of valgrind's lackey; docs/events.md. */
extern const struct form lackey_form;

/* Dies if there is no memory. */
void lines_init(struct lines *l, int fd, const char *where);
void lines_fini(struct lines *l);
/* Die if the trace does not have what is wanted. */
void require_wanted(const struct trace *t, struct wanted what);
/* Make lines of a trace's events, write them, and say what is missing from the trace; dies if it
 * cannot be read or is damaged. */
void lines_of_trace(struct lines *l, struct trace *t, const struct form *f, struct wanted what);
/* Put a head before all lines. */
void lines_head(struct lines *l, const char *s);

/* Room for one line. */
char *line_begin(struct lines *l);
/* End a line at p; false when it was the last one wanted. */
bool line_end(struct lines *l, char *p);
/* The same without a newline, for records. */
bool line_commit(struct lines *l, char *p);

/* Put something at p; each returns where it ends. */
char *put_text(char *p, const char *s);
char *put_dec(char *p, u64 x);
/* At least `least` digits. */
char *put_hex(char *p, u64 x, int least);

/* The data that the reference at a place has read, then, behind a `separator`, what it has written: numbers of as many digits as the access
 * has, `prefix` before each; `?` where that is unknown, `nothing` where there is none. */
char *put_values(char *p, const struct place *at, const char *separator, const char *prefix, const char *nothing);

#endif
