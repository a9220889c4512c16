/* SPDX-License-Identifier: MIT */
/* sgdt and sidt store 10 bytes, smsw 2, though the kernel does it for them. */
#include "case.h"
CASE
    fill rax, rcx, rdx, r11
    sgdt [rip + zeros]                      # expect: S zeros,10
    sidt [rip + zeros + 16]                 # expect: S zeros+16,10
    smsw [rip + zeros + 32]                 # expect: S zeros+32,2
    holds rax, rcx, rdx, r11
CHECK
    same(word ptr [rip + zeros], 0)
    same(byte ptr [rip + zeros + 11], 0)
END
