/* SPDX-License-Identifier: MIT */
/* movntss and movntsd store 4 and 8 bytes. */
# needs: sse4a
#include "case.h"
CASE
    movss xmm0, [rip + data + 4]            # expect: L data+4,4
    movntss [rip + zeros], xmm0             # expect: S zeros,4
    movntsd [rip + zeros + 8], xmm0         # expect: S zeros+8,8
CHECK
    same(qword ptr [rip + zeros], 0x07060504)
    same(qword ptr [rip + zeros + 8], 0x07060504)
END
