/* SPDX-License-Identifier: MIT */
/* One ret returns to each of its callers in turn. */
#include "case.h"
CASE
    xor eax, eax
    call f                                  # expect: S stack-8,8
    add eax, 0x100
    call f                                  # expect: S stack-8,8
    add eax, 0x100
    call f                                  # expect: S stack-8,8
    add eax, 0x100
    same(eax, 0x303)
    jmp done
f:
    inc eax
    ret                                     # expect*3: L stack-8,8
done:
END
