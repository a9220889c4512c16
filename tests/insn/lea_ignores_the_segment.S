/* SPDX-License-Identifier: MIT */
/* lea of an fs or gs operand does not add the base. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
    set_base ARCH_SET_GS, zeros
BEGIN
    mov ebx, 5
    .byte 0x64; lea rax, [rbx + 3]          # expect: none
    .byte 0x65; lea rcx, [rbx*2]            # expect: none
    same(rax, 8)
    same(rcx, 10)
END
