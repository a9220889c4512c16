/* SPDX-License-Identifier: MIT */
/* xchg and xadd of r11 with memory are modifies, locked or not. */
#include "case.h"
CASE
    fill r11
    xchg r11, [rip + data + 8]              # expect: M data+8,8
    same_q(r11, 0x0f0e0d0c0b0a0908)
    xchg r11b, [rip + data + 16]            # expect: M data+16,1
    same_q(r11, 0x0f0e0d0c0b0a0910)
    mov r11d, 1
    lock xadd [rip + data + 24], r11d       # expect: M data+24,4
    same(r11, 0x1b1a1918)
    mov rax, 7
    xchg rax, r11
    same(rax, 0x1b1a1918)
    same(r11, 7)
CHECK
    same(qword ptr [rip + data + 8], canary_r11)
    same(byte ptr [rip + data + 16], 0x08)
    same(dword ptr [rip + data + 24], 0x1b1a1919)
END
