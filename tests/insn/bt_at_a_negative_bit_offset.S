/* SPDX-License-Identifier: MIT */
/* bt m, r takes the register as signed and reads below the operand. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov rcx, -1
    bt [rbx], cx                            # expect: L data-2,2
    setc al
    bt [rbx], ecx                           # expect: L data-4,4
    bt [rbx], rcx                           # expect: L data-8,8
    mov rcx, -65
    bt [rbx], cx                            # expect: L data-10,2
    bt [rbx], ecx                           # expect: L data-12,4
    bt [rbx], rcx                           # expect: L data-16,8
    same(al, 1)
END
