/* SPDX-License-Identifier: MIT */
/* inc, cmc, bt, sahf and shifts by zero change only their own flags, across jumps. */
#include "case.h"
CASE
    stc
    mov eax, [rip + data]                   # expect: L data,4
    inc eax
    jmp one
one:
    setc bl
    same(bl, 1)
    xor eax, eax
    cmc
    lea r11, [rip + two]
    jmp r11
two:
    setz cl
    setc dl
    same(cl, 1)
    same(dl, 1)
    xor eax, eax
    bts dword ptr [rip + zeros], 3          # expect: M zeros,4
    bt dword ptr [rip + zeros], 3           # expect: L zeros,4
    setz cl
    setc dl
    same(cl, 1)
    same(dl, 1)
    mov ah, SF | CF | 2
    sahf
    mov rdx, [rip + data]                   # expect: L data,8
    mov ecx, 0
    shl dword ptr [rip + zeros], cl         # expect: M zeros,4
    call f                                  # expect: S stack-8,8
    lahf
    same(ah, SF | CF | 2)
    jmp done
f:
    ret                                     # expect: L stack-8,8
done:
END
