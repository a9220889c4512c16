/* SPDX-License-Identifier: MIT */
/* enter n, 3 loads two frame pointers, downwards, and stores four. */
#include "case.h"
CASE
    lea rbp, [rip + data + 64]
    # expect: L data+56,8 ; L data+48,8 ; [i=1..4] S stack-8*i,8
    enter 8, 3
    same(rsp, offset stack - 40)
    same(rbp, offset stack - 8)
CHECK
    same_q([rip + stack - 16], 0x3f3e3d3c3b3a3938)
    same_q([rip + stack - 24], 0x3736353433323130)
END
