/* SPDX-License-Identifier: MIT */
/* ah, bh, ch and dh move through gs, where no REX prefix is possible. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
    fill rax, rcx, rdx
BEGIN
    mov ah, gs:[1]                          # expect: L data+1,1
    mov gs:[0x100], ch                      # expect: S data+0x100,1
    mov ebx, 16
    add dh, gs:[rbx]                        # expect: L data+16,1
    xchg ch, gs:[rbx + 1]                   # expect: M data+17,1
    same(rax, (canary_rax & ~0xff00) | 0x100)
    same(rcx, (canary_rcx & ~0xff00) | 0x1100)
    same(rdx, (canary_rdx & ~0xff00) | 0x0f00)
CHECK
    same(byte ptr [rip + data + 0x100], 0xff)
    same(byte ptr [rip + data + 17], 0xff)
END
