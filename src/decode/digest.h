/* SPDX-License-Identifier: MIT */
/* A number for a thread's events: made while recording and again from the file, it tells whether both are the same; and made of two
 * recordings of a program that does the same each time, whether they are, however it was cut into units. */
#ifndef DIGEST_H
#define DIGEST_H

#include "decode/decode.h"

/* Of the instructions and of the references with their data, each in their order: in which order they are given out together depends on the units. */
struct digest {
    u64 insns, refs;
};

/* Go on with the events of a batch. */
void digest_batch(struct digest *d, const struct events *e);
/* A thread's share of the digest of a trace, which is the sum of these. */
u64 digest_of_thread(u32 thread, const struct digest *d);

#endif
