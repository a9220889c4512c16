/* SPDX-License-Identifier: MIT */
/* xlat with an fs override adds its base. */
#include "case.h"
SETUP
    set_base ARCH_SET_FS, data
BEGIN
    mov ebx, 16
    mov al, 4
    xlat byte ptr fs:[rbx]                  # expect: L data+20,1
    same(al, 20)
END
