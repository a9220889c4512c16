/* SPDX-License-Identifier: MIT */
/* fxsave and fxsave64 store, and fxrstor and fxrstor64 load, 512 bytes. */
#include "case.h"
CASE
    movups xmm3, [rip + data]               # expect: L data,16
    fxsave [rip + zeros]                    # expect: S zeros,512
    fxsave64 [rip + zeros + 512]            # expect: S zeros+512,512
    pxor xmm3, xmm3
    fxrstor [rip + zeros]                   # expect: L zeros,512
    movd eax, xmm3
    same(eax, 0x03020100)
    fxrstor64 [rip + zeros + 512]           # expect: L zeros+512,512
END
