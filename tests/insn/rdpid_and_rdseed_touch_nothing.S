/* SPDX-License-Identifier: MIT */
/* rdpid and rdseed touch nothing, into r11 as well. */
# needs: rdpid rdseed
#include "case.h"
CASE
    rdpid rax
    rdpid r11
    shr r11, 32
    same(r11, 0)
    rdseed r11d
    shr r11, 32
    same(r11, 0)
END
