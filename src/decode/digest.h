/* SPDX-License-Identifier: MIT */
/* A number for a thread's events: made while recording and again from the file, it tells whether both are the same. */
#ifndef DIGEST_H
#define DIGEST_H

#include "decode/decode.h"

/* Go on with the events of a batch. `continues`: its first record is the rest of one that was begun in the batch before. */
u64 digest_batch(u64 digest, const struct unit_table *t, const struct batch *b, bool continues);
/* A thread's share of the digest of a trace, which is the sum of these. */
u64 digest_of_thread(u32 thread, u64 digest);

#endif
