/* SPDX-License-Identifier: MIT */
/* leave loads 8 bytes at rbp, wherever rsp was. */
#include "case.h"
CASE
    fill rax
    push rax                                # expect: S stack-8,8
    mov rbp, rsp
    sub rsp, 200
    push rax                                # expect: S stack-216,8
    leave                                   # expect: L stack-8,8
    same(rbp, canary_rax)
    same(rsp, offset stack)
    lea rbp, [rip + data + 8]
    leave                                   # expect: L data+8,8
    same_q(rbp, 0x0f0e0d0c0b0a0908)
    same(rsp, offset data + 16)
END
