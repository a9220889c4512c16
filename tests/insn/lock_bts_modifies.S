/* SPDX-License-Identifier: MIT */
/* lock bts, btr and btc are one modify. */
#include "case.h"
CASE
    lea rbx, [rip + zeros]
    mov ecx, 40
    lock bts [rbx], ecx                     # expect: M zeros+4,4
    lock btr [rbx], rcx                     # expect: M zeros,8
    setc al
    lock btc dword ptr [rbx], 5             # expect: M zeros,4
    mov rcx, -1
    lock bts [rbx], rcx                     # expect: M zeros-8,8
    same(al, 1)
CHECK
    same(qword ptr [rip + zeros], 32)
    same(byte ptr [rip + zeros - 1], 0x80)
END
