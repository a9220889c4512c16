/* SPDX-License-Identifier: MIT */
/* shld and shrd with a memory destination are modifies. */
#include "case.h"
CASE
    mov ecx, 8
    mov rax, -1
    shld [rip + data + 4], eax, cl          # expect: M data+4,4
    shrd [rip + data + 8], rax, 4           # expect: M data+8,8
    shld [rip + data + 2], ax, 4            # expect: M data+2,2
CHECK
    same(dword ptr [rip + data + 4], 0x060504ff)
    same_q([rip + data + 8], 0xf0f0e0d0c0b0a090)
    same(word ptr [rip + data + 2], 0x302f)
END
