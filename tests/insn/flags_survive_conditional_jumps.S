/* SPDX-License-Identifier: MIT */
/* Every setting of the flags survives all sixteen conditional jumps, taken or not. */
# needs: bmi2
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    jo after_o
    nop
after_o:
    jno after_no
    nop
after_no:
    jb after_b
    nop
after_b:
    jnb after_nb
    nop
after_nb:
    jz after_z
    nop
after_z:
    jnz after_nz
    nop
after_nz:
    jbe after_be
    nop
after_be:
    jnbe after_nbe
    nop
after_nbe:
    js after_s
    nop
after_s:
    jns after_ns
    nop
after_ns:
    jp after_p
    nop
after_p:
    jnp after_np
    nop
after_np:
    jl after_l
    nop
after_l:
    jnl after_nl
    nop
after_nl:
    jle after_le
    nop
after_le:
    jnle after_nle
    nop
after_nle:
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
