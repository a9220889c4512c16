/* SPDX-License-Identifier: MIT */
/* enter n, 1 stores rbp and the new frame pointer. */
#include "case.h"
CASE
    fill rbp
    enter 16, 1                             # expect: S stack-8,8 ; S stack-16,8
    same(rbp, offset stack - 8)
    same(rsp, offset stack - 32)
CHECK
    same(qword ptr [rip + stack - 8], canary_rbp)
    same(rbp, [rip + stack - 16])
END
