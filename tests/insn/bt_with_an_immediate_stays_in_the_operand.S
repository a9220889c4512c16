/* SPDX-License-Identifier: MIT */
/* bt m, imm takes the bit number modulo the operand's size and never leaves the operand. */
#include "case.h"
CASE
    lea rbx, [rip + data]
    bt dword ptr [rbx + 4], 33              # expect: L data+4,4
    setc al
    bt word ptr [rbx + 4], 18               # expect: L data+4,2
    setc cl
    bts qword ptr [rip + zeros], 63         # expect: M zeros,8
    btr dword ptr [rbx + 4], 2              # expect: M data+4,4
    btc word ptr [rbx + 8], 200             # expect: M data+8,2
    same(al, 0)
    same(cl, 1)
CHECK
    same(byte ptr [rip + zeros + 7], 0x80)
    same(byte ptr [rip + data + 4], 0)
    same(byte ptr [rip + data + 9], 8)
END
