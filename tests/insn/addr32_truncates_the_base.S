/* SPDX-License-Identifier: MIT */
/* With a 67h prefix only the low 32 bits of base and index count. */
#include "case.h"
CASE
    movabs rbx, offset data + 0xdeadbeef00000000
    movabs rcx, 0xfeedface00000003
    mov eax, [ebx]                          # expect: L data,4
    same(eax, 0x03020100)
    mov eax, [ebx + ecx*4]                  # expect: L data+12,4
    same(eax, 0x0f0e0d0c)
    mov rdx, -8
    mov [ebx + edx - 8], eax                # expect: S data-16,4
    mov eax, [ecx*2 + data]                 # expect: L data+6,4
    same(eax, 0x09080706)
END
