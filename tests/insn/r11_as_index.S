/* SPDX-License-Identifier: MIT */
/* r11 is an index with every scale. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    mov r11d, 5
    mov al, [rbx + r11]                     # expect: L data+5,1
    mov cl, [rbx + r11*2]                   # expect: L data+10,1
    mov [rbx + r11*4], al                   # expect: S data+20,1
    inc dword ptr [rbx + r11*8]             # expect: M data+40,4
    mov dl, [r11*4 + data + 1]              # expect: L data+21,1
    same(al, 5)
    same(cl, 10)
    same(dl, 21)
    same(r11, 5)
END
