/* SPDX-License-Identifier: MIT */
/* pmovzx and pmovsx load as much as the destination has elements for. */
# needs: sse4_1 avx2
#include "case.h"
CASE
    pmovzxbw xmm0, [rip + data]             # expect: L data,8
    pmovzxbd xmm0, [rip + data]             # expect: L data,4
    pmovzxbq xmm1, [rip + data + 1]         # expect: L data+1,2
    pmovsxwd xmm0, [rip + data]             # expect: L data,8
    pmovsxwq xmm0, [rip + data]             # expect: L data,4
    pmovsxdq xmm0, [rip + data]             # expect: L data,8
    vpmovzxbw ymm0, [rip + data]            # expect: L data,16
    vpmovsxbq ymm0, [rip + data]            # expect: L data,4
    vpmovzxdq ymm0, [rip + data]            # expect: L data,16
    pextrq rax, xmm1, 1
    same(rax, 2)
END
