/* SPDX-License-Identifier: MIT */
/* repne cmps stops after the first equal pair. */
#include "case.h"
CASE
    lea rsi, [rip + data]
    lea rdi, [rip + data + 261]
    mov word ptr [rip + data + 265], 0x0504 # expect: S data+265,2
    mov ecx, 10
    repne cmpsw                             # expect: [i=0..2] L data+2*i,2 ; L data+261+2*i,2
    sete al
    same(rcx, 7)
    same(al, 1)
END
