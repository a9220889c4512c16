/* SPDX-License-Identifier: MIT */
/* Ranges of terabytes at fixed addresses, as sanitizers and emulators map them: the same ones are free, can be taken,
 * used, partly unmapped and given back. */
#include "check.h"

/* Where well-known tools put their shadows, on x86-64. */
static const struct range {
    const char *name;
    uintptr_t from, to;
} ranges[] = {
    {"AddressSanitizer's low shadow", 0x00007fff8000, 0x10007fff8000},
    {"ThreadSanitizer's shadow", 0x100000000000, 0x200000000000},
    {"ThreadSanitizer's meta", 0x300000000000, 0x340000000000},
    {"MemorySanitizer's shadow", 0x010000000000, 0x100000000000},
    {"an emulator's low memory", 0x000040000000, 0x000080000000},
    {"the first usable page", 0x000000010000, 0x000000011000},
};

static void use(const struct range *r)
{
    size_t size = r->to - r->from;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    char *p = mmap((void *)r->from, size, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (p != (char *)r->from) {
        fail("%s: not free\n", r->name);
        return;
    }
    p[0] = 1;
    p[size - 1] = 2;
    p[size / 2] = 3;
    CHECK(p[0] == 1 && p[size - 1] == 2 && p[size / 2] == 3);
    CHECK(mmap(p, PAGE, PROT_READ, flags, -1, 0) == MAP_FAILED && errno == EEXIST);
    /* Code in it runs. */
    CHECK(!mprotect(p, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC));
    put_return(p, 71);
    CHECK_IS(call_code(p), 71);
    if (size > 4 * PAGE) {
        CHECK(!munmap(p + PAGE, size - 2 * PAGE));
        CHECK(p[size - 1] == 2);
    }
    CHECK(!munmap(p, size)); /* a hole in it does not matter */
    CATCH(call_code(p));
    CHECK_IS(fault.sig, SIGSEGV);
    say("%s\n", r->name);
}

int main(void)
{
    watchdog(WATCHDOG_SECONDS);
    catch_faults(0);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        use(&ranges[i]);
    /* Low memory by wish, as just-in-time compilers take it for short jumps. */
    for (int i = 0; i < 50; i++) {
        char *p = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
        CHECK(p != MAP_FAILED && (uintptr_t)p < 0x80000000);
        put_return(p, i);
        CHECK_IS(call_code(p), i);
    }
    return verdict();
}
