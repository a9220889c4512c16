/* SPDX-License-Identifier: MIT */
/* A mask register of all ones still gives one access per element. */
# needs: avx512f
#include "case.h"
CASE
    kxnorw k1, k1, k1
    vmovups zmm0{k1}, [rip + data]          # expect: [i=0..15] L data+4*i,4
    vmovupd [rip + zeros]{k1}, zmm0         # expect: [i=0..7] S zeros+8*i,8
CHECK
    same_q([rip + zeros + 56], 0x3f3e3d3c3b3a3938)
END
