/* SPDX-License-Identifier: MIT */
/* r11b, r11w, r11d and r11 are stored with their own sizes. */
#include "case.h"
CASE
    fill r11
    mov [rip + zeros], r11b                 # expect: S zeros,1
    mov [rip + zeros + 2], r11w             # expect: S zeros+2,2
    mov [rip + zeros + 4], r11d             # expect: S zeros+4,4
    mov [rip + zeros + 8], r11              # expect: S zeros+8,8
    holds r11
CHECK
    same(word ptr [rip + zeros], 0xf5)
    same(word ptr [rip + zeros + 2], 0xfff5)
    same(dword ptr [rip + zeros + 4], canary_r11)
    same(r11, [rip + zeros + 8])
END
