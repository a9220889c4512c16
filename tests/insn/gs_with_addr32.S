/* SPDX-License-Identifier: MIT */
/* The effective address is truncated to 32 bits before the gs base is added. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    movabs rbx, 0x123400000008
    mov al, gs:[ebx]                        # expect: L data+8,1
    same(al, 8)
    mov ecx, -8
    mov al, gs:[ebx + ecx + 1]              # expect: L data+1,1
    same(al, 1)
    mov al, gs:[ecx*2 + 0x20]               # expect: L data+16,1
    same(al, 16)
END
