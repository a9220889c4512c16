/* SPDX-License-Identifier: MIT */
/* repne scas that finds nothing reads as many elements as rcx says. */
#include "case.h"
CASE
    lea rdi, [rip + data]
    mov eax, -1
    mov ecx, 4
    repne scasd                             # expect: [i=0..3] L data+4*i,4
    setne dl
    same(rcx, 0)
    same(dl, 1)
END
