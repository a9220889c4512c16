/* SPDX-License-Identifier: MIT */
/* vpcompressb and vpcompressw store their set elements packed. */
# needs: avx512f avx512_vbmi2
#include "case.h"
CASE
    vmovdqu32 zmm0, [rip + data]            # expect: L data,64
    movabs rax, 0x8000000000000012
    kmovq k1, rax
    vpcompressb [rip + zeros]{k1}, zmm0     # expect: [i=0..2] S zeros+i,1
    vpcompressw [rip + zeros + 64]{k1}, zmm0 # expect: [i=0..1] S zeros+64+2*i,2
CHECK
    same(dword ptr [rip + zeros], 0x003f0401)
    same(dword ptr [rip + zeros + 64], 0x09080302)
END
