/* SPDX-License-Identifier: MIT */
/* vpexpandb and vpexpandw load as many packed elements as mask bits are set. */
# needs: avx512f avx512_vbmi2
#include "case.h"
CASE
    movabs rax, 0x8000000000000012
    kmovq k1, rax
    vpexpandb zmm0{k1}{z}, [rip + data]     # expect: [i=0..2] L data+i,1
    vpexpandw zmm1{k1}{z}, [rip + data]     # expect: [i=0..1] L data+2*i,2
    vpextrb eax, xmm0, 4
    same(eax, 1)
END
