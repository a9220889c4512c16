/* SPDX-License-Identifier: MIT */
/* movzx, movsx and movsxd load as many bytes as the source has. */
#include "case.h"
CASE
    movzx eax, byte ptr [rip + data + 200]  # expect: L data+200,1
    same(rax, 200)
    movsx rax, byte ptr [rip + data + 200]  # expect: L data+200,1
    same(rax, 200 - 256)
    movzx rax, word ptr [rip + data + 2]    # expect: L data+2,2
    same(rax, 0x0302)
    movsx eax, word ptr [rip + data + 0xfe] # expect: L data+0xfe,2
    same_q(rax, 0xfffffffe)
    movsxd rax, dword ptr [rip + data + 0xfc] # expect: L data+0xfc,4
    same(rax, 0xfffefdfc - 0x100000000)
    movzx cx, byte ptr [rip + data + 7]     # expect: L data+7,1
    same(cx, 7)
END
