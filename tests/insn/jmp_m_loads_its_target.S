/* SPDX-License-Identifier: MIT */
/* jmp m loads 8 bytes: direct, by register and rip-relative. */
#include "case.h"
CASE
    jmp [rip + table]                       # expect: L table,8
    ud2                                     # never
one:
    lea rbx, [rip + table]
    jmp [rbx + 8]                           # expect: L table+8,8
    ud2                                     # never
two:
    push offset three                       # expect: S stack-8,8
    jmp [rsp]                               # expect: L stack-8,8
    ud2                                     # never
three:
    same(rsp, offset stack - 8)
END
    .data
table:
    .quad one, two
