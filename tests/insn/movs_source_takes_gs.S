/* SPDX-License-Identifier: MIT */
/* A gs override of a string instruction applies to the source, never to the destination. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    mov esi, 16
    lea rdi, [rip + zeros]
    movs dword ptr [rdi], dword ptr gs:[rsi] # expect: L data+16,4 ; S zeros,4
    mov ecx, 3
    # expect: [i=0..2] L data+20+i,1 ; S zeros+4+i,1
    rep movs byte ptr [rdi], byte ptr gs:[rsi]
    lods qword ptr gs:[rsi]                 # expect: L data+23,8
    same_q(rax, 0x1e1d1c1b1a191817)
    same(rsi, 31)
END
