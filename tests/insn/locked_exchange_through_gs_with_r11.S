/* SPDX-License-Identifier: MIT */
/* lock xadd and xchg through gs with r11 as value and index. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data
BEGIN
    mov r11d, 1
    mov ebx, 8
    lock xadd gs:[rbx], r11                 # expect: M data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0908)
    mov r11d, 2
    xchg gs:[rbx + r11*8], r11              # expect: M data+24,8
    same_q(r11, 0x1f1e1d1c1b1a1918)
    mov r11d, 4
    lock inc dword ptr gs:[r11]             # expect: M data+4,4
    cmovz r11, gs:[r11]                     # expect: L data+4,8
    same(r11, 4)
    setnz gs:[r11]                          # expect: S data+4,1
CHECK
    same(byte ptr [rip + data + 4], 0)
    same(byte ptr [rip + data + 8], 9)
END
