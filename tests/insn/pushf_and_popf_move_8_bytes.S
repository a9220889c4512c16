/* SPDX-License-Identifier: MIT */
/* pushf stores and popf loads 8 bytes, 2 with an operand-size prefix, and the flags arrive. */
#include "case.h"
CASE
    push CF | ZF | OF | 0x202               # expect: S stack-8,8
    popfq                                   # expect: L stack-8,8
    seto al
    setz cl
    setc dl
    stc
    pushfq                                  # expect: S stack-8,8
    clc
    popfq                                   # expect: L stack-8,8
    setc bl
    same(al, 1)
    same(cl, 1)
    same(dl, 1)
    same(bl, 1)
    pushfw                                  # expect: S stack-2,2
    popfw                                   # expect: L stack-2,2
    same(rsp, offset stack)
END
