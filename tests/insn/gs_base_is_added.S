/* SPDX-License-Identifier: MIT */
/* A gs override adds the base set by arch_prctl. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, data + 256
BEGIN
    mov rax, gs:0                           # expect: L data+256,8
    same_q(rax, 0x0706050403020100)
    mov rbx, -8
    mov cl, gs:[rbx]                        # expect: L data+248,1
    same(cl, 0xf8)
    mov gs:[rbx + 16], cl                   # expect: S data+264,1
    mov edx, 2
    add qword ptr gs:[rbx + rdx*8], 1       # expect: M data+264,8
    mov r11, gs:[rdx*8]                     # expect: L data+272,8
    same_q(r11, 0x1716151413121110)
CHECK
    same(byte ptr [rip + data + 264], 0xf9)
END
