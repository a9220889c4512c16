/* SPDX-License-Identifier: MIT */
/* mov of a segment register stores 2 bytes to memory. */
#include "case.h"
CASE
    mov [rip + zeros], ss                   # expect: S zeros,2
    mov [rip + zeros + 2], fs               # expect: S zeros+2,2
    mov eax, ss
    mov ds, [rip + zeros + 2]               # expect: L zeros+2,2
CHECK
    same(ax, [rip + zeros])
END
