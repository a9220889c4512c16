/* SPDX-License-Identifier: MIT */
/* Shifts and rotates of memory are modifies, even by zero. */
#include "case.h"
CASE
    mov ecx, 4
    stc
    rcl byte ptr [rip + data + 1], 1        # expect: M data+1,1
    rcr word ptr [rip + data + 2], cl       # expect: M data+2,2
    rol dword ptr [rip + data + 4], 8       # expect: M data+4,4
    sar qword ptr [rip + data + 8], cl      # expect: M data+8,8
    xor ecx, ecx
    shl dword ptr [rip + data + 16], cl     # expect: M data+16,4
    shr dword ptr [rip + data + 20], 0      # expect: M data+20,4
CHECK
    same(byte ptr [rip + data + 1], 3)
    same(dword ptr [rip + data + 4], 0x06050407)
    same(dword ptr [rip + data + 16], 0x13121110)
END
