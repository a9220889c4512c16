/* SPDX-License-Identifier: MIT */
/* The old page of kernel functions at the top of the address space can be called where the kernel has it, returns to its
 * caller, and cannot be read or entered elsewhere. */
#include "check.h"
#include <sys/time.h>

static long (*const get_time_of_day)(struct timeval *, void *) = (void *)0xffffffffff600000;
static long (*const get_time)(long *) = (void *)0xffffffffff600400;
static long (*const get_cpu)(unsigned *, unsigned *, void *) = (void *)0xffffffffff600800;

/* Call with the registers that a function may not change set. */
static long call_keeping(const void *target, void *argument)
{
    long result, di = (long)argument, si = 0, dx = 0;
    register long r12 asm("r12") = 0x1212, rbx asm("rbx") = 0x1b1b;
    register const void *r11 asm("r11") = target;
    asm volatile("call *%%r11"
                 : "=a"(result), "+D"(di), "+S"(si), "+d"(dx), "+r"(r12), "+r"(rbx), "+r"(r11)
                 :
                 : "rcx", "r8", "r9", "r10", "memory", "cc");
    CHECK(r12 == 0x1212 && rbx == 0x1b1b);
    return result;
}

int main(void)
{
    struct timeval tv = {0};
    unsigned cpu = 99999, node = 99999;
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    CATCH(get_time(NULL));
    if (fault.sig)
        return skip("the kernel has no vsyscall page");
    for (int i = 0; i < 50; i++) {
        long before = time(NULL), told = 0;
        long now = get_time(&told);
        CHECK(now == told && now >= before - 1 && now <= time(NULL) + 1);
        CHECK_IS(get_time_of_day(&tv, NULL), 0);
        CHECK(tv.tv_sec >= before - 1);
        CHECK_IS(get_cpu(&cpu, &node, NULL), 0);
        CHECK(cpu < 4096);
        CHECK_IS(call_keeping((void *)get_time_of_day, &tv), 0);
    }
    /* Somewhere else on the page. */
    CATCH(((void (*)(void))0xffffffffff600010)());
    CHECK_IS(fault.sig, SIGSEGV);
    say("elsewhere: signal %d, code %d\n", fault.sig, fault.code);
    CATCH((void)*(volatile char *)0xffffffffff600000);
    say("reading: signal %d\n", fault.sig);
    CATCH(get_time_of_day((struct timeval *)8, NULL));
    say("with a bad pointer: signal %d\n", fault.sig);
    return verdict();
}
