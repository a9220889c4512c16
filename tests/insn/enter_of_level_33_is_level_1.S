/* SPDX-License-Identifier: MIT */
/* The nesting level of enter is taken modulo 32. */
#include "case.h"
CASE
    fill rbp
    enter 0, 33                             # expect: S stack-8,8 ; S stack-16,8
    same(rsp, offset stack - 16)
END
