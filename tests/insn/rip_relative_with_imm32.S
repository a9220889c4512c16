/* SPDX-License-Identifier: MIT */
/* The bytes of a 32-bit immediate lie between the displacement and the rip it counts from. */
#include "case.h"
CASE
    mov dword ptr [rip + zeros], 0x12345678 # expect: S zeros,4
    mov qword ptr [rip + zeros + 8], -0x1000 # expect: S zeros+8,8
    and qword ptr [rip + zeros + 8], 0x7fffffff # expect: M zeros+8,8
    test dword ptr [rip + data + 16], 0x1000000 # expect: L data+16,4
    setnz al
    same(al, 1)
CHECK
    same(dword ptr [rip + zeros], 0x12345678)
    same(qword ptr [rip + zeros + 8], 0x7ffff000)
END
