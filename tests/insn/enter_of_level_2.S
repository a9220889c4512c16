/* SPDX-License-Identifier: MIT */
/* enter n, 2 loads one frame pointer and stores three. */
#include "case.h"
CASE
    lea rbp, [rip + data + 64]
    enter 0, 2                              # expect: L data+56,8 ; [i=1..3] S stack-8*i,8
    same(rsp, offset stack - 24)
    same(rbp, offset stack - 8)
CHECK
    same_q([rip + stack - 16], 0x3f3e3d3c3b3a3938)
    same(rbp, [rip + stack - 24])
END
