/* SPDX-License-Identifier: MIT */
/* push, pop, call and jmp through gs read and write at the base. */
#include "case.h"
SETUP
    set_base ARCH_SET_GS, table
BEGIN
    call gs:[8]                             # expect: L table+8,8 ; S stack-8,8
    mov ecx, 2
    push qword ptr gs:[rcx*8]               # expect: L table+16,8 ; S stack-8,8
    pop qword ptr gs:24                     # expect: L stack-8,8 ; S table+24,8
    jmp gs:[rcx*8 + 8]                      # expect: L table+24,8
    ud2                                     # never
callee:
    ret                                     # expect: L stack-8,8
there:
    same(rsp, offset stack)
END
    .data
table:
    .quad 0, callee, there, 0
