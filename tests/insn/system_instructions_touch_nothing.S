/* SPDX-License-Identifier: MIT */
/* rdtsc, cpuid, xgetbv, rdrand and the fences touch nothing and keep the other registers. */
# needs: rdrand xsave
#include "case.h"
CASE
    fill rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    rdtsc
    rdtscp
    xor eax, eax
    xor ecx, ecx
    cpuid
    xor ecx, ecx
    xgetbv
    and eax, 3
    same(eax, 3)
    rdrand rax
    lfence
    mfence
    sfence
    holds rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
END
