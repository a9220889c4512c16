/* SPDX-License-Identifier: MIT */
/* A hundred pushes, r11 among them, and a hundred pops in one block. */
#include "case.h"
CASE
    fill rax, r11
    .rept 50
    push rax                                # expect*50: S stack-8-16*n,8
    push r11                                # expect*50: S stack-16-16*n,8
    .endr
    .rept 50
    pop r11                                 # expect*50: L stack-800+16*n,8
    pop rax                                 # expect*50: L stack-792+16*n,8
    .endr
    holds rax, r11
    same(rsp, offset stack)
END
