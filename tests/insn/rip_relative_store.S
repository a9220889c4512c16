/* SPDX-License-Identifier: MIT */
/* A rip-relative store writes where the instruction says, each size. */
#include "case.h"
CASE
    fill rax, rcx, rdx, rbx
    mov [rip + zeros], al                   # expect: S zeros,1
    mov [rip + zeros + 2], cx               # expect: S zeros+2,2
    mov [rip + zeros + 4], edx              # expect: S zeros+4,4
    mov [rip + zeros + 8], rbx              # expect: S zeros+8,8
    movups [rip + zeros + 16], xmm0         # expect: S zeros+16,16
CHECK
    same(word ptr [rip + zeros], 0xff)
    same(word ptr [rip + zeros + 2], 0xfffe)
    same(dword ptr [rip + zeros + 4], -0x12340003)
    same(rbx, [rip + zeros + 8])
END
