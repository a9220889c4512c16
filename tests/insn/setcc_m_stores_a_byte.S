/* SPDX-License-Identifier: MIT */
/* setcc m stores one byte, 0 or 1. */
#include "case.h"
CASE
    lea r11, [rip + zeros + 2]
    stc
    setc [rip + zeros]                      # expect: S zeros,1
    setnc [rip + zeros + 1]                 # expect: S zeros+1,1
    setc [r11]                              # expect: S zeros+2,1
    setc [rsp - 1]                          # expect: S stack-1,1
CHECK
    same(dword ptr [rip + zeros], 0x010001)
END
