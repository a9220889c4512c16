/* SPDX-License-Identifier: MIT */
/* aes, sha, pclmulqdq and gf2p8 operands are 16 bytes. */
# needs: aes sha_ni pclmulqdq gfni avx
#include "case.h"
CASE
    aesenc xmm1, [rip + data]               # expect: L data,16
    aesimc xmm2, [rip + data]               # expect: L data,16
    aeskeygenassist xmm2, [rip + data], 1   # expect: L data,16
    sha256msg1 xmm1, [rip + data]           # expect: L data,16
    sha256rnds2 xmm1, [rip + data], xmm0    # expect: L data,16
    sha1rnds4 xmm1, [rip + data], 0         # expect: L data,16
    pclmulqdq xmm1, [rip + data], 0         # expect: L data,16
    gf2p8mulb xmm1, [rip + data]            # expect: L data,16
    vaesdec xmm1, xmm1, [rip + data]        # expect: L data,16
END
