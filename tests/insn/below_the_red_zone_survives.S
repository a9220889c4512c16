/* SPDX-License-Identifier: MIT */
/* Memory far below the stack pointer is the program's as well, and stays. */
#include "case.h"
CASE
    mov ecx, 100
put:
    mov [rsp + rcx*8 - 1000], ecx           # expect*100: S stack-200-8*n,4
    dec ecx
    jnz put
    call f                                  # expect: S stack-8,8
    mov ecx, 100
get:
    cmp [rsp + rcx*8 - 1000], ecx           # expect*100: L stack-200-8*n,4
    jne fail
    dec ecx
    jnz get
    jmp done
f:
    ret                                     # expect: L stack-8,8
done:
END
