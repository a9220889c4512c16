/* SPDX-License-Identifier: MIT */
/* loop with a 67h prefix counts in ecx and clears the upper half of rcx. */
#include "case.h"
CASE
    movabs rcx, 0x100000003
top:
    mov al, [rip + data]                    # expect*3: L data,1
    .byte 0x67; loop top
    same(rcx, 0)
END
