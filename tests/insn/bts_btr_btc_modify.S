/* SPDX-License-Identifier: MIT */
/* bts, btr and btc with a register bit offset modify the word that holds the bit. */
#include "case.h"
CASE
    lea rbx, [rip + zeros]
    mov ecx, 100
    bts [rbx], ecx                          # expect: M zeros+12,4
    setc al
    bts [rbx], rcx                          # expect: M zeros+8,8
    setc dl
    btr [rbx], cx                           # expect: M zeros+12,2
    btc [rbx], ecx                          # expect: M zeros+12,4
    mov rcx, -7
    btc [rbx], cx                           # expect: M zeros-2,2
    bts [rip + zeros + 64], rcx             # expect: M zeros+56,8
    same(al, 0)
    same(dl, 1)
CHECK
    same(dword ptr [rip + zeros + 12], 1 << 4)
    same(byte ptr [rip + zeros - 1], 2)
    same(byte ptr [rip + zeros + 63], 2)
END
