/* SPDX-License-Identifier: MIT */
/* A program starts with a gs base of zero. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov al, gs:[rbx + 3]                    # expect: L data+3,1
    same(al, 3)
    movups xmm0, gs:[rbx + 16]              # expect: L data+16,16
END
