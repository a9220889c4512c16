/* SPDX-License-Identifier: MIT */
/* pcmpestri and its kin load 16 bytes and answer in ecx or xmm0. */
# needs: sse4_2
#include "case.h"
CASE
    movups xmm1, [rip + data]               # expect: L data,16
    mov eax, 16
    mov edx, 16
    pcmpestri xmm1, [rip + data], 0x18      # expect: L data,16
    same(ecx, 16)
    pcmpistri xmm1, [rip + data + 1], 0x18  # expect: L data+1,16
    pcmpestrm xmm1, [rip + data], 0x40      # expect: L data,16
    pcmpistrm xmm1, [rip + data], 0x40      # expect: L data,16
END
