/* SPDX-License-Identifier: MIT */
/* clzero stores the 64 bytes of the line that holds rax. */
# needs: clzero
#include "case.h"
CASE
    lea rax, [rip + data + 70]
    clzero                                  # expect: S data+64,64
CHECK
    same(qword ptr [rip + data + 64], 0)
    same(qword ptr [rip + data + 120], 0)
    same(byte ptr [rip + data + 63], 63)
    same(byte ptr [rip + data + 128], 128)
END
