/* SPDX-License-Identifier: MIT */
/* An index without a base is scaled and added to the displacement. */
#include "case.h"
CASE
    mov ecx, 5
    mov al, [rcx*8 + data]                  # expect: L data+40,1
    same(al, 40)
    mov ebx, offset data
    mov al, [rbx*1 + 7]                     # expect: L data+7,1
    same(al, 7)
    mov r13d, 2
    mov [r13*4 + zeros + 1], al             # expect: S zeros+9,1
END
