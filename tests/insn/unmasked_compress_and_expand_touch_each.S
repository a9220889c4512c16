/* SPDX-License-Identifier: MIT */
/* vpcompress and vpexpand without a mask touch the whole vector. */
# needs: avx512f
#include "case.h"
CASE
    vpexpandd zmm0, [rip + data]            # expect: L data,64
    vpcompressd [rip + zeros], zmm0         # expect: S zeros,64
CHECK
    same(dword ptr [rip + zeros + 60], 0x3f3e3d3c)
END
