/* SPDX-License-Identifier: MIT */
/* A masked scalar load, store or operation touches memory only if bit 0 of the mask is set. */
# needs: avx512f
#include "case.h"
CASE
    mov eax, 1
    kmovw k1, eax
    mov eax, 0xfffe
    kmovw k2, eax
    vmovss xmm0{k1}, [rip + data]           # expect: L data,4
    vmovss xmm1{k2}{z}, [rip + data]        # expect: none
    vmovsd xmm0{k1}{z}, [rip + data]        # expect: L data,8
    vmovss [rip + zeros]{k1}, xmm0          # expect: S zeros,4
    vmovsd [rip + zeros + 8]{k2}, xmm0      # expect: none
    vaddss xmm2{k1}, xmm2, [rip + zeros]    # expect: L zeros,4
    vaddsd xmm2{k2}, xmm2, [rip + zeros]    # expect: none
    vfmadd231sd xmm2{k1}, xmm2, [rip + zeros] # expect: L zeros,8
    vcmpss k3{k2}, xmm2, [rip + zeros], 0   # expect: none
    vmovq rax, xmm0
    same_q(rax, 0x0706050403020100)
CHECK
    same(dword ptr [rip + zeros], 0x03020100)
    same(dword ptr [rip + zeros + 8], 0)
END
