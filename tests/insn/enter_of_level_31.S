/* SPDX-License-Identifier: MIT */
/* enter n, 31 loads thirty frame pointers and stores thirty-two. */
#include "case.h"
CASE
    lea rbp, [rip + data + 256]
    # expect: [i=1..30] L data+256-8*i,8 ; [i=1..32] S stack-8*i,8
    enter 0, 31
    same(rsp, offset stack - 256)
END
