/* SPDX-License-Identifier: MIT */
/* bt m, r takes only the operand's size of the register as the bit offset. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov rcx, 0x1234567800008000
    bt [rbx], cx                            # expect: L data-4096,2
    movabs rcx, 0x7654321000004e20
    bt [rbx], ecx                           # expect: L data+2500,4
    setc al
    mov ecx, 20000
    bt [rbx], rcx                           # expect: L data+2496,8
    setc dl
    same(al, dl)
    mov r11, -20000
    bt [rbx], r11                           # expect: L data-2504,8
END
