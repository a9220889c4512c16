/* SPDX-License-Identifier: MIT */
/* bnd and notrack before a branch change neither its way nor its accesses. */
#include "case.h"
CASE
    bnd call callee                         # expect: S stack-8,8
    lea rax, [rip + callee]
    notrack call rax                        # expect: S stack-8,8
    lea rax, [rip + there]
    notrack jmp rax
    ud2                                     # never
callee:
    bnd ret                                 # expect*2: L stack-8,8
there:
    bnd jmp done
    ud2                                     # never
done:
    stc
    bnd jc end_of_case
    ud2                                     # never
END
