/* SPDX-License-Identifier: MIT */
/* With a 67h prefix a rip-relative address is truncated to 32 bits. */
#include "case.h"
CASE
    mov eax, [eip + data + 4]               # expect: L data+4,4
    mov [eip + zeros], ax                   # expect: S zeros,2
    add dword ptr [eip + data + 8], 1       # expect: M data+8,4
    lea rcx, [eip + data]                   # expect: none
    same(eax, 0x07060504)
    same(rcx, offset data)
CHECK
    same(dword ptr [rip + data + 8], 0x0b0a0909)
END
