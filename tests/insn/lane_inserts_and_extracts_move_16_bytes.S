/* SPDX-License-Identifier: MIT */
/* vinsertf128 loads and vextracti128 stores 16 bytes. */
# needs: avx2
#include "case.h"
CASE
    vpxor ymm0, ymm0, ymm0
    vinsertf128 ymm0, ymm0, [rip + data], 1 # expect: L data,16
    vextracti128 [rip + zeros], ymm0, 1     # expect: S zeros,16
    vextractf128 [rip + zeros + 16], ymm0, 0 # expect: S zeros+16,16
    vinserti128 ymm1, ymm0, [rip + data], 0 # expect: L data,16
    vperm2f128 ymm2, ymm0, [rip + data], 0x31 # expect: L data,32
CHECK
    same(dword ptr [rip + zeros], 0x03020100)
    same(dword ptr [rip + zeros + 16], 0)
END
