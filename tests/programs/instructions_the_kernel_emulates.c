/* SPDX-License-Identifier: MIT */
/* Instructions that fault and that the kernel then does itself (where the processor hides the tables of the system): the
 * same values and the next pc. */
#include "check.h"

int main(void)
{
    struct __attribute__((packed)) {
        uint16_t limit;
        uint64_t base;
    } table = {0};
    long word = -1;
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    for (int turn = 0; turn < 3; turn++) {
        memset(&table, 0, sizeof table);
        CATCH(asm volatile("sgdt %0" : "=m"(table)));
        bool is_hidden = !fault.sig && table.limit == 0;
        say("sgdt: signal %d, %s\n", fault.sig, is_hidden ? "nothing told" : "something told");
        if (is_hidden)
            CHECK_IS(table.base, 0xfffffffffffe0000);
        CATCH(asm volatile("mov %0, %%r11\n\tsidt (%%r11)" : : "r"(&table) : "r11", "memory"));
        if (is_hidden && !fault.sig)
            CHECK(table.limit == 0 && table.base == 0xffffffffffff0000);
        say("sidt: signal %d\n", fault.sig);
        word = -1;
        CATCH(asm volatile("smsw %0" : "=r"(word)));
        say("smsw: signal %d, %lx\n", fault.sig, word & 0x1);
        word = -1;
        CATCH(asm volatile("smsw %%r11\n\tmov %%r11, %0" : "=r"(word) : : "r11"));
        say("smsw r11: signal %d, %lx\n", fault.sig, word & 0x1);
        word = -1;
        CATCH(asm volatile("sldt %0" : "=r"(word)));
        say("sldt: signal %d, %lx\n", fault.sig, word);
        word = -1;
        CATCH(asm volatile("str %0" : "=r"(word)));
        say("str: signal %d\n", fault.sig);
        /* At a bad address the signal is that of the address. */
        CATCH(asm volatile("sgdt (%0)" : : "r"(16l) : "memory"));
        say("sgdt nowhere: signal %d, address %ld\n", fault.sig, (long)fault.addr);
    }
    return verdict();
}
