/* SPDX-License-Identifier: MIT */
/* movdir64b loads 64 bytes and stores them at its register's address; movdiri only stores. */
# needs: movdiri movdir64b
#include "case.h"
CASE
    lea rax, [rip + zeros]
    movdir64b rax, [rip + data]             # expect: L data,64 ; S zeros,64
    movdiri [rip + zeros + 64], rax         # expect: S zeros+64,8
END
