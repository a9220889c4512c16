/* SPDX-License-Identifier: MIT */
/* pextrb, pextrw, pextrd, pextrq and extractps store one element. */
# needs: sse4_1 avx
#include "case.h"
CASE
    movups xmm0, [rip + data]               # expect: L data,16
    pextrb [rip + zeros], xmm0, 3           # expect: S zeros,1
    pextrw [rip + zeros + 2], xmm0, 3       # expect: S zeros+2,2
    pextrd [rip + zeros + 4], xmm0, 3       # expect: S zeros+4,4
    pextrq [rip + zeros + 8], xmm0, 1       # expect: S zeros+8,8
    extractps [rip + zeros + 16], xmm0, 1   # expect: S zeros+16,4
    lea r11, [rip + zeros]
    vpextrb [r11 + 20], xmm0, 15            # expect: S zeros+20,1
CHECK
    same(byte ptr [rip + zeros], 3)
    same(word ptr [rip + zeros + 2], 0x0706)
    same(dword ptr [rip + zeros + 4], 0x0f0e0d0c)
    same_q([rip + zeros + 16], 0x0f07060504)
END
