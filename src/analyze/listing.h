/* SPDX-License-Identifier: MIT */
/* All references of a thread again, out of the descriptors of its streams. */
#ifndef LISTING_H
#define LISTING_H

#include "analyze/statics.h"
#include "analyze/streams.h"

#include <stdio.h>

/* One line each, in their order: thread, pc, event, address, size, as gait dump has them. The streams have kept all their
 * descriptors, and are in so many parts. Of merged ones, pcs are not known. */
void listing_print(FILE *f, const struct streams *parts, u32 n_parts, const struct statics *statics,
                   bool merged);

#endif
