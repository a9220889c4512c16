/* SPDX-License-Identifier: MIT */
/* Prefetches touch nothing, even at addresses that do not exist. */
# needs: 3dnowprefetch
#include "case.h"
CASE
    mov ebx, 16
    prefetcht0 [rip + data]                 # expect: none
    prefetcht1 [rip + data]                 # expect: none
    prefetcht2 [rbx]                        # expect: none
    prefetchnta [rbx]                       # expect: none
    prefetchw [rip + data]                  # expect: none
    prefetch [rbx]                          # expect: none
END
