/* SPDX-License-Identifier: MIT */
/* jrcxz looks at rcx and jecxz at ecx; neither touches memory or flags. */
#include "case.h"
CASE
    stc
    mov ecx, 0
    jrcxz one
    ud2                                     # never
one:
    movabs rcx, 0x100000000
    jrcxz fail
    jecxz two
    ud2                                     # never
two:
    jnc fail
    mov ecx, 1
    jecxz fail
    same(rcx, 1)
END
