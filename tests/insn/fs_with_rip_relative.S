/* SPDX-License-Identifier: MIT */
/* An fs override adds its base to a rip-relative address. */
#include "case.h"
SETUP
    mov edi, ARCH_SET_FS
    mov esi, 48
    mov eax, 158
    syscall
BEGIN
    mov eax, fs:[rip + data]                # expect: L data+48,4
    same(eax, 0x33323130)
    mov fs:[rip + zeros], al                # expect: S zeros+48,1
    .byte 0x64; lea rcx, [rip + data]       # expect: none
    same(rcx, offset data)
END
