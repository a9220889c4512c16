/* SPDX-License-Identifier: MIT */
/* movnti, movntdq, movntps and movntq are ordinary stores. */
# needs: avx
#include "case.h"
CASE
    mov eax, 5
    movnti [rip + zeros], eax               # expect: S zeros,4
    movnti [rip + zeros + 8], rax           # expect: S zeros+8,8
    movntdq [rip + zeros + 16], xmm0        # expect: S zeros+16,16
    movntps [rip + zeros + 32], xmm0        # expect: S zeros+32,16
    movntpd [rip + zeros + 48], xmm0        # expect: S zeros+48,16
    vmovntdq [rip + zeros + 64], ymm0       # expect: S zeros+64,32
    movntq [rip + zeros + 96], mm0          # expect: S zeros+96,8
    sfence
CHECK
    same(dword ptr [rip + zeros], 5)
END
