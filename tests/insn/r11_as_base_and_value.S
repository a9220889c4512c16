/* SPDX-License-Identifier: MIT */
/* r11 is the address and the value of a store and of a modify. */
#include "case.h"
CASE
    lea r11, [rip + zeros]
    mov [r11], r11                          # expect: S zeros,8
    add [r11 + 8], r11d                     # expect: M zeros+8,4
    mov [r11 + 16], r11b                    # expect: S zeros+16,1
    xchg [r11 + 24], r11                    # expect: M zeros+24,8
    same(r11, 0)
CHECK
    same(qword ptr [rip + zeros], offset zeros)
    same(qword ptr [rip + zeros + 8], offset zeros)
    same(byte ptr [rip + zeros + 16], 0)
    same(qword ptr [rip + zeros + 24], offset zeros)
END
