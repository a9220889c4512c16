/* SPDX-License-Identifier: MIT */
/* vmaskmovdqu with overrides stores at the fs base plus edi. */
# needs: avx
#include "case.h"
SETUP
    set_base ARCH_SET_FS, zeros
BEGIN
    movabs rdi, 0x1234000000000020
    vmovups xmm1, [rip + mask]              # expect: L mask,16
    .byte 0x64, 0x67; vmaskmovdqu xmm0, xmm1 # expect: [i=1,14] S zeros+0x20+i,1
END
    .data
mask:
    .byte 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, 0
