/* SPDX-License-Identifier: MIT */
/* crc32 and movbe with r11 as either operand. */
# needs: sse4_2 movbe
#include "case.h"
CASE
    lea r11, [rip + data]
    movbe rax, [r11 + 8]                    # expect: L data+8,8
    same_q(rax, 0x08090a0b0c0d0e0f)
    movbe r11d, [r11 + 4]                   # expect: L data+4,4
    same(r11, 0x04050607)
    movbe [rip + zeros], r11w               # expect: S zeros,2
    xor eax, eax
    xor r11d, r11d
    lea rbx, [rip + data]
    crc32 rax, qword ptr [rbx]              # expect: L data,8
    crc32 r11, qword ptr [rbx]              # expect: L data,8
    same(rax, r11)
    mov ecx, 1
    crc32 r11d, cl
    crc32 eax, byte ptr [rbx + 1]           # expect: L data+1,1
    same(rax, r11)
CHECK
    same(word ptr [rip + zeros], 0x0706)
END
