/* SPDX-License-Identifier: MIT */
/* What the kernel writes for a system call is not the program's access. */
#include "case.h"
CASE
    fill rdx, rbx, rbp, r8, r9, r10, r12, r13, r14, r15
    lea rdi, [rip + zeros]
    mov eax, 63
    syscall                                 # expect: none
    same(rax, 0)
    mov ecx, [rip + zeros]                  # expect: L zeros,4
    same(ecx, 0x756e694c)
    holds rdx, rbx, rbp, r8, r9, r10, r12, r13, r14, r15
END
