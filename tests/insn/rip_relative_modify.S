/* SPDX-License-Identifier: MIT */
/* A rip-relative operand that is read and written is one modify. */
#include "case.h"
CASE
    mov eax, 2
    add [rip + data], eax                   # expect: M data,4
    xor [rip + data + 8], rax               # expect: M data+8,8
    not byte ptr [rip + data + 16]          # expect: M data+16,1
    inc word ptr [rip + data + 18]          # expect: M data+18,2
    shl qword ptr [rip + data + 24]         # expect: M data+24,8
CHECK
    same(dword ptr [rip + data], 0x03020102)
    same(dword ptr [rip + data + 8], 0x0b0a090a)
    same(byte ptr [rip + data + 16], 0xef)
    same(word ptr [rip + data + 18], 0x1313)
    same(dword ptr [rip + data + 24], 0x36343230)
END
