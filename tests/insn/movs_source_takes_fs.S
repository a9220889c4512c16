/* SPDX-License-Identifier: MIT */
/* A segment override of movs and lods applies to the source, never to the destination. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
BEGIN
    mov esi, 16
    lea rdi, [rip + zeros]
    movs byte ptr [rdi], byte ptr fs:[rsi]  # expect: L data+16,1 ; S zeros,1
    mov ecx, 2
    # expect: [i=0..1] L data+17+8*i,8 ; S zeros+1+8*i,8
    rep movs qword ptr [rdi], qword ptr fs:[rsi]
    same(rsi, 33)
    lods byte ptr fs:[rsi]                  # expect: L data+33,1
    same(al, 33)
    lea rdi, [rip + data + 34]
    cmps byte ptr fs:[rsi], byte ptr [rdi]  # expect: L data+34,1 ; L data+34,1
    sete al
    same(al, 1)
END
