/* SPDX-License-Identifier: MIT */
/* The rounding modes of SSE and x87 survive calls, indirect jumps and system calls. */
#include "case.h"
CASE
    mov dword ptr [rip + zeros], 0x7f80     # expect: S zeros,4
    ldmxcsr [rip + zeros]                   # expect: L zeros,4
    mov word ptr [rip + zeros], 0x0f7f      # expect: S zeros,2
    fldcw [rip + zeros]                     # expect: L zeros,2
    call f                                  # expect: S stack-8,8
    lea rbx, [rip + there]
    jmp rbx
f:
    mov eax, 39
    syscall
    ret                                     # expect: L stack-8,8
there:
    stmxcsr [rip + zeros + 8]               # expect: S zeros+8,4
    fnstcw [rip + zeros + 16]               # expect: S zeros+16,2
CHECK
    same(dword ptr [rip + zeros + 8], 0x7f80)
    same(word ptr [rip + zeros + 16], 0x0f7f)
END
