/* SPDX-License-Identifier: MIT */
/* xlat loads one byte at rbx plus al, not sign-extended. */
#include "case.h"
CASE
    lea rbx, [rip + data + 1]
    mov eax, 0x12345600 + 200
    xlatb                                   # expect: L data+201,1
    same(eax, 0x12345600 + 201)
    mov al, 0
    xlatb                                   # expect: L data+1,1
    same(al, 1)
END
