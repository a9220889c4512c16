/* SPDX-License-Identifier: MIT */
/* A 32-bit displacement is added to the base, positive or negative. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov ecx, [rbx + 0x104]                  # expect: L data+0x104,4
    mov edx, [rbx - 0x104]                  # expect: L data-0x104,4
    mov [rbx - 0xffc], edx                  # expect: S data-0xffc,4
    same(ecx, 0x07060504)
    same(edx, 0xfffefdfc)
END
