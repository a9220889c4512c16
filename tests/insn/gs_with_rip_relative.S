/* SPDX-License-Identifier: MIT */
/* A gs override adds its base to a rip-relative address. */
#include "case.h"
SETUP
    mov edi, ARCH_SET_GS
    mov esi, 32
    mov eax, 158
    syscall
BEGIN
    mov eax, gs:[rip + data]                # expect: L data+32,4
    same(eax, 0x23222120)
    add gs:[rip + zeros], eax               # expect: M zeros+32,4
    mov word ptr gs:[rip + zeros + 8], 0x1234 # expect: S zeros+40,2
CHECK
    same(eax, [rip + zeros + 32])
END
