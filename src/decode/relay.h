/* SPDX-License-Identifier: MIT */
/* The records of a trace in windows, for several threads that decode them at the same time: each takes the next window, in the order of the file, unpacks it
 * into memory of its own, and is told what is carried into it. */
#ifndef RELAY_H
#define RELAY_H

#include "decode/decode.h"
#include "decode/trace.h"

enum { RELAY_WINDOW = 256 << 10 /* bytes */ };

struct relay;

struct relay_window {
    u64 turn;               /* windows before this one */
    size_t piece;           /* which chunk: its place in trace.pieces */
    u64 before;             /* bytes of its records before these */
    struct carried carried; /* into the first record */
    size_t size;
};

struct relay *relay_new(struct trace *t);
/* The next window, by any thread, into RELAY_WINDOW bytes: 1, or 0 at the end, or -1 with a sentence; 0 ever after. */
int relay_next(struct relay *r, struct relay_window *w, u8 *records, struct err *e);
void relay_free(struct relay *r);

#endif
