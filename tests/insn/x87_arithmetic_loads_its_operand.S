/* SPDX-License-Identifier: MIT */
/* x87 arithmetic loads a float of 4 or 8 bytes or an integer of 2 or 4. */
#include "case.h"
CASE
    fld1
    fadd dword ptr [rip + half]             # expect: L half,4
    fmul qword ptr [rip + two]              # expect: L two,8
    fiadd word ptr [rip + five]             # expect: L five,2
    fimul dword ptr [rip + five]            # expect: L five,4
    fsubr dword ptr [rip + half]            # expect: L half,4
    fdiv qword ptr [rip + two]              # expect: L two,8
    ficom word ptr [rip + five]             # expect: L five,2
    ficomp dword ptr [rip + five]           # expect: L five,4
    fld1
    fcom dword ptr [rip + half]             # expect: L half,4
    fcomp qword ptr [rip + two]             # expect: L two,8
END
    .data
half:
    .float 0.5
two:
    .double 2.0
five:
    .long 5
