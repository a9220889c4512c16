/* SPDX-License-Identifier: MIT */
/* Every setting of the flags survives gathers and masked accesses. */
# needs: bmi2 avx2 avx512f
#include "case.h"
CASE
    mov ebp, 127
each:
    mov r12d, FLAGS
    pdep r13d, ebp, r12d
    push r13                                # expect*128: S stack-8,8
    popfq                                   # expect*128: L stack-8,8
    vpxor ymm1, ymm1, ymm1
    vpcmpeqd ymm2, ymm2, ymm2
    vpgatherqq ymm0, [ymm1 + data], ymm2    # expect*128: [i=0..3] L data,8
    mov eax, 5
    kmovw k1, eax
    vmovups zmm0{k1}, [rip + data]          # expect*128: [i=0,2] L data+4*i,4
    vpcompressd [rip + zeros]{k1}, zmm0     # expect*128: [i=0..1] S zeros+4*i,4
    vpcmpeqd xmm2, xmm2, xmm2
    vmaskmovps [rip + zeros], xmm2, xmm0    # expect*128: [i=0..3] S zeros+4*i,4
    pushfq                                  # expect*128: S stack-8,8
    pop rax                                 # expect*128: L stack-8,8
    and eax, FLAGS
    same(eax, r13d)
    dec ebp
    jns each
END
