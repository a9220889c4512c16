/* SPDX-License-Identifier: MIT */
/* What a reference has read and written, of a trace that was recorded with values. */
#ifndef CONTENTS_H
#define CONTENTS_H

#include "decode/decode.h"

enum contents_state {
    CONTENTS_none,    /* nothing was recorded: no values at all, or it only reads, or only writes */
    CONTENTS_unknown, /* what it was could not be recorded */
    CONTENTS_known,
};

struct contents {
    enum contents_state state;
    u32 size;        /* known: as many bytes as the access has, as they are in memory */
    const u8 *bytes; /* of the record, or of `own` */
    u8 own[8];
};

/* The bytes that reference j of the batch, which is one of record i, has read; and those it has written. */
void contents_read(const struct events *e, u32 i, u32 j, struct contents *out);
void contents_written(const struct events *e, u32 i, u32 j, struct contents *out);

#endif
