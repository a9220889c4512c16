/* SPDX-License-Identifier: MIT */
/* xsave stores up to the end of the last component asked for, never less than 576 bytes. */
# needs: xsave avx
#include "case.h"
CASE
    movups xmm5, [rip + data]               # expect: L data,16
    xor edx, edx
    mov eax, 3
    xsave [rip + zeros]                     # expect: S zeros,576
    mov eax, 1
    xsave [rip + zeros]                     # expect: S zeros,576
    mov eax, 0
    xsave [rip + zeros]                     # expect: S zeros,576
    mov eax, 7
    xsave64 [rip + zeros + 1024]            # expect: S zeros+1024,832
    mov eax, 4
    xsave [rip + zeros + 1024]              # expect: S zeros+1024,832
CHECK
    same(dword ptr [rip + zeros + 160 + 5 * 16], 0x03020100)
END
