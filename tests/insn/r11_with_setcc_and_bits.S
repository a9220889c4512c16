/* SPDX-License-Identifier: MIT */
/* setcc, bt, bts and the counts with r11. */
# needs: bmi1 abm popcnt
#include "case.h"
CASE
    fill r11
    xor eax, eax
    setz r11b
    same(r11, (canary_r11 & ~0xff) | 1)
    mov r11d, 13
    bt [rip + data], r11d                   # expect: L data,4
    mov r11, -8
    bts [rip + data + 8], r11               # expect: M data,8
    lea r11, [rip + data]
    bt dword ptr [r11 + 4], 1               # expect: L data+4,4
    popcnt r11, [r11 + 8]                   # expect: L data+8,8
    same(r11, 1 + 2 + 2 + 3 + 2 + 3 + 3 + 4)
    lea r11, [rip + data]
    tzcnt r11d, [r11 + 8]                   # expect: L data+8,4
    same(r11, 3)
    setc [rip + zeros]                      # expect: S zeros,1
    bts r11, 40
    same_q(r11, 0x10000000003)
END
