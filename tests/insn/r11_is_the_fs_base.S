/* SPDX-License-Identifier: MIT */
/* rdfsbase and wrfsbase take r11. */
# needs: fsgsbase
#include "case.h"
CASE
    lea r11, [rip + data + 256]
    wrfsbase r11
    xor r11d, r11d
    mov r11, fs:0                           # expect: L data+256,8
    same_q(r11, 0x0706050403020100)
    rdfsbase r11
    same(r11, offset data + 256)
END
