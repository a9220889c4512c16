/* SPDX-License-Identifier: MIT */
/* A transaction either is not known to the processor, and then a fault at its first instruction, or begins or falls back
 * as the architecture allows; the result is right in every case. */
#include "check.h"
#include <cpuid.h>

extern const char xbegin_at[];
long transaction(long *cell);
asm(".globl transaction, xbegin_at\n"
    "transaction:\n"
    "    mov $-1, %eax\n"
    "xbegin_at:\n"
    "    xbegin 1f\n"
    "    incq (%rdi)\n"
    "    xend\n"
    "    xor %eax, %eax\n"
    "    ret\n"
    "1:  lock incq (%rdi)\n"
    "    mov $1, %eax\n"
    "    ret\n");

int main(void)
{
    unsigned a, b = 0, c, d;
    long cell = 0;
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    __get_cpuid_count(7, 0, &a, &b, &c, &d);
    if (b & bit_RTM) {
        for (int i = 0; i < 1000; i++)
            transaction(&cell);
        CHECK_IS(cell, 1000);
        CATCH(asm volatile("xtest\n\tsetz %%al" : : : "rax", "cc"));
        CHECK_IS(fault.sig, 0);
    } else {
        for (int i = 0; i < 10; i++) {
            CATCH(transaction(&cell));
            CHECK_IS(fault.sig, SIGILL);
            CHECK_IS(fault.reg[REG_RIP], (long)xbegin_at);
            CHECK_IS((int)fault.reg[REG_RAX], -1);
        }
        CHECK_IS(cell, 0);
        CATCH(asm volatile("xtest" : : : "cc"));
        CHECK_IS(fault.sig, SIGILL);
        CATCH(asm volatile("xend" : : : "cc"));
        CHECK(fault.sig != 0);
        /* xabort outside of a transaction is nothing, where it is known. */
        CATCH(asm volatile("xabort $3"));
        say("xabort: signal %d\n", fault.sig);
        /* The prefixes alone are harmless everywhere. */
        asm volatile("xacquire lock incq %0\n\txrelease lock decq %0" : "+m"(cell) : : "cc");
        CHECK_IS(cell, 0);
    }
    return verdict();
}
