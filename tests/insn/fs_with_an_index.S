/* SPDX-License-Identifier: MIT */
/* An fs override applies to an address with a scaled index, with and without a base. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
BEGIN
    mov ecx, 4
    mov ebx, 16
    mov al, fs:[rcx*8]                      # expect: L data+32,1
    same(al, 32)
    mov al, fs:[rbx + rcx*2 + 1]            # expect: L data+25,1
    same(al, 25)
    push qword ptr fs:[rcx*4]               # expect: L data+16,8 ; S stack-8,8
    pop qword ptr fs:[rbx + 8]              # expect: L stack-8,8 ; S data+24,8
CHECK
    same_q([rip + data + 24], 0x1716151413121110)
END
