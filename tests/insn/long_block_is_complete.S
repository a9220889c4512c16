/* SPDX-License-Identifier: MIT */
/* Three hundred accesses without a branch are all there, in order. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    xor eax, eax
    .rept 300
    add eax, [rbx]                          # expect*300: L data+4*n,4
    add rbx, 4
    .endr
    same(rbx, offset data + 1200)
END
