/* SPDX-License-Identifier: MIT */
/* A direction flag set by popf turns the strings that follow, and std holds across a call. */
#include "case.h"
CASE
    lea rsi, [rip + data + 64]
    push DF | 0x202                         # expect: S stack-8,8
    popfq                                   # expect: L stack-8,8
    lodsq                                   # expect: L data+64,8
    lodsq                                   # expect: L data+56,8
    call f                                  # expect: S stack-8,8
    lodsb                                   # expect: L data+52,1
    same(rsi, offset data + 53)
    jmp done
f:
    lodsd                                   # expect: L data+48,4
    cld
    lodsq                                   # expect: L data+44,8
    ret                                     # expect: L stack-8,8
done:
END
