/* SPDX-License-Identifier: MIT */
/* lock inc, dec, add, or, and, sub, xor, not and neg are each one modify. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    lock inc byte ptr [rbx]                 # expect: M data,1
    lock dec word ptr [rbx + 2]             # expect: M data+2,2
    lock add dword ptr [rbx + 4], 1         # expect: M data+4,4
    lock or qword ptr [rbx + 8], 1          # expect: M data+8,8
    lock and dword ptr [rbx + 16], 0        # expect: M data+16,4
    lock not dword ptr [rip + data + 20]    # expect: M data+20,4
    lock neg byte ptr [rip + data + 24]     # expect: M data+24,1
    mov eax, 1
    lock sub [rbx + 28], eax                # expect: M data+28,4
    lock xor [rbx + 32], ax                 # expect: M data+32,2
    lock adc [rbx + 40], rax                # expect: M data+40,8
CHECK
    same(byte ptr [rip + data], 1)
    same(dword ptr [rip + data + 4], 0x07060505)
    same(dword ptr [rip + data + 20], ~0x17161514)
    same(byte ptr [rip + data + 24], -24)
END
