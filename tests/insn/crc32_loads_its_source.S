/* SPDX-License-Identifier: MIT */
/* crc32 loads a source of 1, 2, 4 or 8 bytes. */
# needs: sse4_2
#include "case.h"
CASE
    xor eax, eax
    crc32 eax, byte ptr [rip + data + 1]    # expect: L data+1,1
    crc32 eax, word ptr [rip + data + 2]    # expect: L data+2,2
    crc32 eax, dword ptr [rip + data + 4]   # expect: L data+4,4
    crc32 rax, qword ptr [rip + data + 8]   # expect: L data+8,8
    xor ecx, ecx
    mov edx, 1
    crc32 ecx, dl
    crc32 rcx, qword ptr [rip + data + 2]   # expect: L data+2,8
    crc32 ecx, dword ptr [rip + data + 10]  # expect: L data+10,4
    crc32 ecx, word ptr [rip + data + 14]   # expect: L data+14,2
    same(rax, rcx)
END
