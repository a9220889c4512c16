/* SPDX-License-Identifier: MIT */
/* r11 passes a value into a call and out of it. */
#include "case.h"
CASE
    fill r11
    call f                                  # expect: S stack-8,8
    same(r11, canary_r11 + 1)
    call g                                  # expect: S stack-8,8
    same(r11, canary_r11 + 3)
    jmp done
f:
    inc r11
    ret                                     # expect: L stack-8,8
g:
    call h                                  # expect: S stack-16,8
    inc r11
    ret                                     # expect: L stack-8,8
h:
    inc r11
    ret                                     # expect: L stack-16,8
done:
    same(rsp, offset stack)
END
