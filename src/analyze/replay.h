/* SPDX-License-Identifier: MIT */
/* A stored trace through a pipeline: its chunks are decoded by several threads, and analysed in the order of the file. */
#ifndef REPLAY_H
#define REPLAY_H

#include "analyze/pipeline.h"
#include "decode/trace.h"

/* -1 with a sentence if a chunk cannot be read. */
int replay(struct pipeline *p, struct trace *t, u32 workers, struct err *e);

#endif
