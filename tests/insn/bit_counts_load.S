/* SPDX-License-Identifier: MIT */
/* popcnt, lzcnt, tzcnt, bsf and bsr load their source. */
# needs: popcnt abm bmi1
#include "case.h"
CASE
    popcnt eax, [rip + data + 4]            # expect: L data+4,4
    same(eax, 8)
    lzcnt rax, [rip + data + 8]             # expect: L data+8,8
    same(rax, 4)
    tzcnt ax, [rip + data + 2]              # expect: L data+2,2
    same(ax, 1)
    bsf rax, [rip + data + 8]               # expect: L data+8,8
    same(rax, 3)
    bsr eax, [rip + data + 4]               # expect: L data+4,4
    same(eax, 26)
END
