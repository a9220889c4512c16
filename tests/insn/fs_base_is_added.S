/* SPDX-License-Identifier: MIT */
/* An fs override adds the base set by arch_prctl: the event has the linear address. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data + 256
BEGIN
    mov rax, fs:0                           # expect: L data+256,8
    same_q(rax, 0x0706050403020100)
    mov eax, fs:[0x28]                      # expect: L data+256+0x28,4
    same(eax, 0x2b2a2928)
    mov rbx, -8
    mov cl, fs:[rbx]                        # expect: L data+248,1
    same(cl, 0xf8)
    mov fs:[rbx + 16], cl                   # expect: S data+264,1
    add dword ptr fs:16, 1                  # expect: M data+272,4
CHECK
    same(byte ptr [rip + data + 264], 0xf8)
    same(dword ptr [rip + data + 272], 0x13121111)
END
