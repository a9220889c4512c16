/* SPDX-License-Identifier: MIT */
/* r11 goes to the red zone and comes back while branches are taken. */
#include "case.h"
CASE
    fill r11
    mov [rsp - 8], r11                      # expect: S stack-8,8
    mov [rsp - 128], r11d                   # expect: S stack-128,4
    xor r11d, r11d
    jz there
there:
    mov r11, [rsp - 8]                      # expect: L stack-8,8
    holds r11
    mov r11d, [rsp - 128]                   # expect: L stack-128,4
    same(r11d, canary_r11)
END
