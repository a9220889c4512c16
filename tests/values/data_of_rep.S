/* SPDX-License-Identifier: MIT */
/* The data of rep instructions is known up to 63 bytes, if they go upwards: moves that overlap themselves, comparisons that stop early, counts of nothing.
   # unknown: 178 */
    .intel_syntax noprefix
    .data
    .balign 64
data:
    .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .byte \n * 7 + 1, \n * 3 + 128
    .endr
place:
    .fill 256, 1, 0x5a
    .text
.macro string insn, from, to, count
    lea rsi, [rip + \from]
    lea rdi, [rip + \to]
    mov ecx, \count
    mov eax, 0x8a8c8e90
    \insn
.endm
    .globl _start
_start:
    string "rep movsb", data, place, 63
    string "rep movsb", data, place + 64, 64        # 2 * 64 unknown
    string "rep movsb", place, place + 1, 20        # overlaps: each reads what the one before has written
    string "rep movsw", place + 30, place + 28, 9
    string "rep movsd", data, place, 15
    string "rep movsq", data, place + 100, 7
    string "rep movsq", data, place + 100, 8        # 2 * 8 unknown
    string "rep movsb", data, place, 0
    string "repe cmpsb", data, place + 100, 60
    string "repe cmpsb", data, place, 60
    string "repne cmpsw", data, place + 3, 5
    string "repe cmpsb", data, place + 100, 0
    string "repne scasb", data, data, 62
    string "repe scasd", data, place, 4
    string "rep lodsb", data, place, 5
    string "rep lodsq", data, place, 3
    string "rep stosb", data, place, 100
    string "rep stosd", data, place + 2, 3
    std
    string "rep movsb", data + 20, place + 20, 17   # 2 * 17 unknown
    string "movsd", data + 20, place + 20, 17
    cld
    string "cmpsb", data, place, 9
    string "scasw", data, place, 9
    string "lodsq", data, place, 9
    string "stosb", data, place, 9
    mov eax, 60
    xor edi, edi
    syscall
