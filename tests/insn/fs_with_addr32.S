/* SPDX-License-Identifier: MIT */
/* The effective address is truncated to 32 bits before the fs base is added. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
BEGIN
    movabs rbx, 0x123400000008
    mov al, fs:[ebx]                        # expect: L data+8,1
    same(al, 8)
    mov ecx, -8
    mov al, fs:[ebx + ecx + 1]              # expect: L data+1,1
    same(al, 1)
END
