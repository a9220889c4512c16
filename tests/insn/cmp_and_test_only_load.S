/* SPDX-License-Identifier: MIT */
/* cmp and test with memory only load. */
#include "case.h"
CASE
    cmp byte ptr [rip + data + 5], 5        # expect: L data+5,1
    jne fail
    mov eax, 0x07060504
    cmp [rip + data + 4], eax               # expect: L data+4,4
    jne fail
    cmp rax, [rip + data + 8]               # expect: L data+8,8
    je fail
    test [rip + data + 2], ax               # expect: L data+2,2
    jz fail
    test qword ptr [rip + data], 1          # expect: L data,8
    jnz fail
END
