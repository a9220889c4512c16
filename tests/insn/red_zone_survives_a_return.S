/* SPDX-License-Identifier: MIT */
/* What lies below the return address is still there after a call and a return. */
#include "case.h"
CASE
    mov qword ptr [rsp - 16], 77            # expect: S stack-16,8
    mov qword ptr [rsp - 128], 78           # expect: S stack-128,8
    call f                                  # expect: S stack-8,8
back:
    mov rax, [rsp - 16]                     # expect: L stack-16,8
    mov rcx, [rsp - 128]                    # expect: L stack-128,8
    mov rdx, [rsp - 8]                      # expect: L stack-8,8
    same(rax, 77)
    same(rcx, 78)
    same(rdx, offset back)
    jmp done
f:
    mov rbx, [rsp - 8]                      # expect: L stack-16,8
    ret                                     # expect: L stack-8,8
done:
    same(rbx, 77)
END
