/* SPDX-License-Identifier: MIT */
/* enter n, 0 stores rbp and makes room. */
#include "case.h"
CASE
    fill rbp
    enter 32, 0                             # expect: S stack-8,8
    same(rbp, offset stack - 8)
    same(rsp, offset stack - 40)
    leave                                   # expect: L stack-8,8
    same(rsp, offset stack)
    holds rbp
END
