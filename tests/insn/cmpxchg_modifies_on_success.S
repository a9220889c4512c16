/* SPDX-License-Identifier: MIT */
/* A successful cmpxchg is a modify, of every size. */
#include "case.h"
CASE
    xor eax, eax
    mov ecx, 0x11111111
    cmpxchg [rip + zeros], cl               # expect: M zeros,1
    jne fail
    cmpxchg [rip + zeros + 2], cx           # expect: M zeros+2,2
    jne fail
    cmpxchg [rip + zeros + 4], ecx          # expect: M zeros+4,4
    jne fail
    lock cmpxchg [rip + zeros + 8], rcx     # expect: M zeros+8,8
    jne fail
CHECK
    same(dword ptr [rip + zeros], 0x11110011)
    same(qword ptr [rip + zeros + 8], 0x11111111)
END
