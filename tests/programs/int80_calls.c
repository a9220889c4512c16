/* SPDX-License-Identifier: MIT */
/* int 0x80 in 64-bit code makes the calls of 32-bit programs, with their numbers and low addresses; and numbers of the
 * x32 kind are refused. */
#include "check.h"

static long int80(long nr, long b, long c, long d)
{
    long result;
    register long r8 asm("r8") = 0x8888, r9 asm("r9") = 0x9999, r10 asm("r10") = 0xaaaa,
                     r11 asm("r11") = 0xbbbb;
    asm volatile("int $0x80"
                 : "=a"(result), "+r"(r8), "+r"(r9), "+r"(r10), "+r"(r11)
                 : "0"(nr), "b"(b), "c"(c), "d"(d)
                 : "memory");
    CHECK(r8 == 0x8888 && r9 == 0x9999 && r10 == 0xaaaa && r11 == 0xbbbb);
    return result;
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    char *low =
        mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    must(low != MAP_FAILED, "map low memory");
    CATCH(int80(20, 0, 0, 0));
    if (fault.sig)
        return skip("no 32-bit calls in this kernel");
    strcpy(low, "said through the old door\n");
    for (int i = 0; i < 10; i++) {
        CHECK_IS(int80(20, 0, 0, 0), getpid());
        CHECK_IS(int80(64, 0, 0, 0), getppid());
        CHECK_IS((int)int80(6, 12345, 0, 0), -EBADF); /* close */
        CHECK_IS((int)int80(9999, 0, 0, 0), -ENOSYS);
        CHECK_IS((int)int80(4, 12345, (long)low, 1), -EBADF);
    }
    CHECK_IS(int80(4, 1, (long)low, strlen(low)), strlen(low)); /* write */
    /* Memory and masks changed through it are changed. */
    CHECK_IS(int80(125, (long)low, PAGE, PROT_READ), 0); /* mprotect */
    CATCH(*(volatile char *)low = 1);
    CHECK_IS(fault.sig, SIGSEGV);
    CHECK_IS(fault.code, SEGV_ACCERR);
    CHECK_IS(int80(91, (long)low, PAGE, 0), 0); /* munmap */
    CATCH(*(volatile char *)low);
    CHECK_IS(fault.code, SEGV_MAPERR);
    CHECK(syscall(0x40000000 | SYS_getpid) == getpid() || errno == ENOSYS);
    return verdict();
}
