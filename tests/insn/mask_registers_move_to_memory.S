/* SPDX-License-Identifier: MIT */
/* kmov loads and stores 1, 2, 4 or 8 bytes. */
# needs: avx512f avx512bw avx512dq
#include "case.h"
CASE
    kmovb k1, [rip + data + 1]              # expect: L data+1,1
    kmovw k2, [rip + data + 2]              # expect: L data+2,2
    kmovd k3, [rip + data + 4]              # expect: L data+4,4
    kmovq k4, [rip + data + 8]              # expect: L data+8,8
    kmovb [rip + zeros], k1                 # expect: S zeros,1
    kmovw [rip + zeros + 2], k2             # expect: S zeros+2,2
    kmovd [rip + zeros + 4], k3             # expect: S zeros+4,4
    kmovq [rip + zeros + 8], k4             # expect: S zeros+8,8
CHECK
    same(dword ptr [rip + zeros], 0x03020001)
    same_q([rip + zeros + 8], 0x0f0e0d0c0b0a0908)
END
