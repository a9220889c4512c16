/* SPDX-License-Identifier: MIT */
/* fbld loads and fbstp stores a packed decimal of 10 bytes. */
#include "case.h"
CASE
    fbld [rip + decimal]                    # expect: L decimal,10
    fbstp [rip + zeros + 3]                 # expect: S zeros+3,10
CHECK
    same_q([rip + zeros + 3], 0x1234567890123456)
END
    .data
decimal:
    .quad 0x1234567890123456
    .word 0
