/* SPDX-License-Identifier: MIT */
/* The bytes of a 16-bit immediate lie between the displacement and the rip it counts from. */
#include "case.h"
CASE
    mov word ptr [rip + zeros], 0x1234      # expect: S zeros,2
    or word ptr [rip + zeros + 2], 0x4321   # expect: M zeros+2,2
    cmp word ptr [rip + data + 2], 0x0302   # expect: L data+2,2
    sete al
    imul cx, [rip + data + 4], 0x100        # expect: L data+4,2
    same(al, 1)
    same(cx, 0x0400)
CHECK
    same(dword ptr [rip + zeros], 0x43211234)
END
