/* SPDX-License-Identifier: MIT */
/* adcx and adox load their source and keep the two carries apart. */
# needs: adx
#include "case.h"
CASE
    xor eax, eax
    mov rcx, -1
    mov rdx, -1
    adcx rcx, [rip + one]                   # expect: L one,8
    adox rdx, [rip + zeros]                 # expect: L zeros,8
    setc al
    seto bl
    same(al, 1)
    same(bl, 0)
    same(rcx, 0)
    mov ecx, 5
    stc
    adcx ecx, [rip + one]                   # expect: L one,4
    same(ecx, 7)
END
    .data
one:
    .quad 1
