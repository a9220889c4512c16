/* SPDX-License-Identifier: MIT */
/* Code that is written while its page cannot run and run while it cannot be written, hundreds of times; by mprotect, by
 * a new mapping over the old, by moving, by remapping after unmapping; in whole pages, parts of regions, and next to
 * code that stays. */
#include "check.h"

enum { TOGGLES = 800, RX = PROT_READ | PROT_EXEC, RW = PROT_READ | PROT_WRITE };

static void by_mprotect(void)
{
    unsigned char *page = map(PAGE, RW);
    for (int i = 0; i < TOGGLES; i++) {
        CHECK(!mprotect(page, PAGE, RW));
        put_return(page + i % 7 * 16, i);
        put_return(page + 2048, -i);
        CHECK(!mprotect(page, PAGE, RX));
        CHECK_IS(call_code(page + i % 7 * 16), i);
        CHECK_IS(call_code(page + 2048), -i);
    }
}

/* The middle page of three changes; code in the first that jumps into it and back does not. */
static void in_the_middle(void)
{
    unsigned char *pages = map(3 * PAGE, RW);
    /* call next page; add eax, 1000; ret */
    pages[0] = 0xe8;
    memcpy(pages + 1, &(int){PAGE - 5}, 4);
    memcpy(pages + 5, "\x05\xe8\x03\x00\x00\xc3", 6);
    put_return(pages + 2 * PAGE, 9);
    mprotect(pages, 3 * PAGE, RX);
    for (int i = 0; i < 300; i++) {
        mprotect(pages + PAGE, PAGE, RW);
        put_return(pages + PAGE, i);
        mprotect(pages + PAGE, PAGE, RX);
        CHECK_IS(call_code(pages), i + 1000);
        CHECK_IS(call_code(pages + 2 * PAGE), 9);
    }
}

static void by_mapping_over(void)
{
    void *at = map(2 * PAGE, RW);
    for (int i = 0; i < 300; i++) {
        void *fresh = map(PAGE, RW);
        put_return(fresh, i);
        mprotect(fresh, PAGE, RX);
        if (i % 3 == 0) {
            CHECK(mremap(fresh, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
        } else {
            int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
            munmap(fresh, PAGE);
            if (i % 3 == 1)
                munmap(at, PAGE);
            CHECK(mmap(at, PAGE, RW, flags, -1, 0) == at);
            put_return(at, i);
            mprotect(at, PAGE, RX);
        }
        CHECK_IS(call_code(at), i);
        CHECK_IS(call_code(at), i);
    }
}

/* What was moved runs at the new place, and the old one is gone. */
static void moved(void)
{
    unsigned char *one = map(PAGE, RW), *two = map(PAGE, PROT_NONE);
    put_return(one, 5);
    mprotect(one, PAGE, RX);
    catch_faults(0);
    for (int i = 0; i < 50; i++) {
        CHECK_IS(call_code(one), 5);
        CHECK(mremap(one, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, two) == two);
        CHECK_IS(call_code(two), 5);
        CATCH(call_code(one));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.reg[REG_RIP], (long)one);
        unsigned char *t = one;
        one = two;
        two = t;
    }
}

/* A region that both can be: code is overwritten without any call in between. */
static void without_calls(void)
{
    unsigned char *page = map(PAGE, RW | PROT_EXEC);
    for (int i = 0; i < TOGGLES; i++) {
        put_return(page + i % 3 * 64, i);
        CHECK_IS(call_code(page + i % 3 * 64), i);
        page[i % 3 * 64 + 1] ^= 0x55;
        CHECK_IS(call_code(page + i % 3 * 64), i ^ 0x55);
    }
    /* Once run while writable, then not writable, then again. */
    for (int i = 0; i < 100; i++) {
        mprotect(page, PAGE, RX);
        int before = call_code(page);
        mprotect(page, PAGE, RW | PROT_EXEC);
        page[1]++;
        CHECK_IS((unsigned char)call_code(page), (unsigned char)(before + 1));
    }
}

/* Zeroed by the kernel on request: nothing of the old code is left. */
static void given_back(void)
{
    unsigned char *page = map(PAGE, RW | PROT_EXEC);
    catch_faults(0);
    for (int i = 0; i < 50; i++) {
        put_return(page, i);
        CHECK_IS(call_code(page), i);
        CHECK(!madvise(page, PAGE, MADV_DONTNEED));
        /* Zeros are add %al, (%rax): with rax = 0 a fault at once. */
        CATCH(asm volatile("xor %%eax, %%eax\n\tcall *%0" : : "r"(page) : "rax", "memory", "cc"));
        CHECK_IS(fault.sig, SIGSEGV);
        CHECK_IS(fault.addr, 0);
        CHECK_IS(fault.reg[REG_RIP], (long)page);
    }
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    by_mprotect();
    in_the_middle();
    by_mapping_over();
    moved();
    without_calls();
    given_back();
    return verdict();
}
