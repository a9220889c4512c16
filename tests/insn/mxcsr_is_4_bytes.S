/* SPDX-License-Identifier: MIT */
/* ldmxcsr and stmxcsr, and their VEX forms, touch 4 bytes. */
# needs: avx
#include "case.h"
CASE
    stmxcsr [rip + zeros]                   # expect: S zeros,4
    ldmxcsr [rip + zeros]                   # expect: L zeros,4
    vstmxcsr [rsp - 4]                      # expect: S stack-4,4
    lea r11, [rip + zeros]
    vldmxcsr [r11]                          # expect: L zeros,4
CHECK
    same(dword ptr [rip + zeros], 0x1f80)
    same(dword ptr [rsp - 4], 0x1f80)
END
