/* SPDX-License-Identifier: MIT */
/* Instructions of the greatest length, with idle prefixes, work as the short ones. */
#include "case.h"
CASE
    mov ecx, 1
    lea r11, [rip + zeros]
    .byte 0x3e, 0x3e, 0x3e; mov qword ptr [rsp + 0x100], 0x11223344 # expect: S stack+0x100,8
    .byte 0x26, 0x2e, 0x36; mov qword ptr [r11 + rcx*8 + 0x100], 5 # expect: S zeros+0x108,8
    .byte 0x3e, 0x2e, 0x26, 0x36; add qword ptr [rip + zeros], 0x12345678 # expect: M zeros,8
    .byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e; nop
CHECK
    same(qword ptr [rip + stack + 0x100], 0x11223344)
    same(qword ptr [rip + zeros + 0x108], 5)
    same(qword ptr [rip + zeros], 0x12345678)
END
