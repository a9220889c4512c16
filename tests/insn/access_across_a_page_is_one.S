/* SPDX-License-Identifier: MIT */
/* An access that crosses a page, or a cache line, is one access. */
#include "case.h"
CASE
    mov rax, [rip + data + 4092]            # expect: L data+4092,8
    mov [rip + zeros + 4095], ax            # expect: S zeros+4095,2
    add [rip + zeros + 63], eax             # expect: M zeros+63,4
    movups xmm0, [rip + data - 5]           # expect: L data-5,16
    same_q(rax, 0x03020100fffefdfc)
END
