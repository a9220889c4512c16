/* SPDX-License-Identifier: MIT */
/* Events as the records of ChampSim's traces. */
#ifndef CHAMPSIM_H
#define CHAMPSIM_H

#include "cmd/lines.h"

/* What is known of the instructions of a trace, and the record that is being filled. */
struct champsim;

extern const struct form champsim_form;

/* Make l write such records; to be freed when the last event was seen. Dies if there is no memory. */
struct champsim *champsim_begin(struct lines *l, const struct trace *t);
void champsim_free(struct champsim *c);

#endif
