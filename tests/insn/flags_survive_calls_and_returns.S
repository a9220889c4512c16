/* SPDX-License-Identifier: MIT */
/* Every setting of the flags survives calls of each kind and their returns. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    call f                                  # expect*128: S stack-8,8
    lea rbx, [rip + f]
    call rbx                                # expect*128: S stack-8,8
    call [rip + table]                      # expect*128: L table,8 ; S stack-8,8
    call g                                  # expect*128: S stack-8,8
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
    jmp done
f:
    ret                                     # expect*512: L stack-8-8*(n%4//3),8
g:
    call f                                  # expect*128: S stack-16,8
    ret 0                                   # expect*128: L stack-8,8
done:
END
    .data
table:
    .quad f
