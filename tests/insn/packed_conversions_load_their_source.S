/* SPDX-License-Identifier: MIT */
/* Packed conversions load as many elements as they convert. */
# needs: avx f16c
#include "case.h"
CASE
    cvtps2pd xmm0, [rip + zeros]            # expect: L zeros,8
    cvtpd2ps xmm0, [rip + zeros]            # expect: L zeros,16
    cvtdq2pd xmm0, [rip + data]             # expect: L data,8
    cvtdq2ps xmm1, [rip + data]             # expect: L data,16
    cvttps2dq xmm1, [rip + zeros]           # expect: L zeros,16
    vcvtps2pd ymm2, [rip + zeros]           # expect: L zeros,16
    vcvtpd2dq xmm2, ymmword ptr [rip + zeros] # expect: L zeros,32
    vcvtph2ps xmm3, [rip + zeros]           # expect: L zeros,8
    vcvtph2ps ymm3, [rip + zeros]           # expect: L zeros,16
    vcvtps2ph [rip + zeros + 32], ymm0, 0   # expect: S zeros+32,16
    cvttsd2si eax, xmm0
    same(eax, 0x03020100)
END
