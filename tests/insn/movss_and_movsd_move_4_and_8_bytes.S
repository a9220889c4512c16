/* SPDX-License-Identifier: MIT */
/* movss moves 4 and movsd 8 bytes; a load clears the rest of the register. */
# needs: avx
#include "case.h"
CASE
    pcmpeqd xmm0, xmm0
    movss xmm0, [rip + data + 4]            # expect: L data+4,4
    movss [rip + zeros], xmm0               # expect: S zeros,4
    movsd xmm1, [rip + data + 8]            # expect: L data+8,8
    movsd [rip + zeros + 8], xmm1           # expect: S zeros+8,8
    vmovss xmm2, [rip + data]               # expect: L data,4
    vmovsd [rip + zeros + 16], xmm2         # expect: S zeros+16,8
    movq rax, xmm0
    same(rax, 0x07060504)
CHECK
    same(qword ptr [rip + zeros], 0x07060504)
    same(qword ptr [rip + zeros + 16], 0x03020100)
END
