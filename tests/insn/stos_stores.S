/* SPDX-License-Identifier: MIT */
/* stos stores al, ax, eax or rax at rdi and steps it. */
#include "case.h"
CASE
    movabs rax, 0x1122334455667788
    lea rdi, [rip + zeros]
    stosb                                   # expect: S zeros,1
    stosw                                   # expect: S zeros+1,2
    stosd                                   # expect: S zeros+3,4
    stosq                                   # expect: S zeros+7,8
    same(rdi, offset zeros + 15)
CHECK
    same_q([rip + zeros], 0x8855667788778888)
END
