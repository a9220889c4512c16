/* SPDX-License-Identifier: MIT */
/* xsave asked for every component stores those that XCR0 enables. */
# needs: xsave avx512f
#include "case.h"
SETUP
    mov eax, 13                             # Zen's layout: where component 7 lies is a choice
    mov ecx, 7
    cpuid
    add eax, ebx
    cmp eax, 2432
    mov edi, 77
    jne fail
    xor ecx, ecx
    xgetbv
    cmp eax, 0xe7
    mov edi, 77
    jne fail
BEGIN
    mov eax, -1
    mov edx, -1
    xsave [rip + zeros]                     # expect: S zeros,2432
    mov eax, 0x20
    xor edx, edx
    xsave [rip + zeros]                     # expect: S zeros,896
    mov eax, 0x47
    xsave [rip + zeros]                     # expect: S zeros,1408
END
