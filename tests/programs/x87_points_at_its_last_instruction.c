/* SPDX-License-Identifier: MIT */
/* fnstenv, fnsave, fxsave and xsave store the address of the last x87 instruction: the program's, in the same stretch of
 * code and behind branches, or whatever this processor stores instead. */
/* not yet: the pointer is the address in the cache; see docs/limits.md */
#include "check.h"

extern const char x87_same[], x87_far[], x87_save[], x87_fx[];
struct stored {
    uint32_t env_same[7], env_far[7], save[27], pad;
    uint8_t fx[512] __attribute__((aligned(64)));
} stored;
void use_x87(void);
asm(".globl use_x87, x87_same, x87_far, x87_save, x87_fx\n"
    "use_x87:\n"
    "    fninit\n"
    "    fld1\n"
    "x87_same:\n"
    "    fldpi\n"
    "    fnstenv stored(%rip)\n"
    "    lea 1f(%rip), %rax\n"
    "    fxch\n"
    "x87_far:\n"
    "    faddp\n"
    "    jmp *%rax\n"
    "    ud2\n"
    "1:  mov $3, %ecx\n"
    "2:  loop 2b\n"
    "    call 3f\n"
    "    fnstenv 28+stored(%rip)\n"
    "x87_save:\n"
    "    fldz\n"
    "    fnsave 56+stored(%rip)\n"
    "    fld1\n"
    "    call 3f\n"
    "x87_fx:\n"
    "    fsqrt\n"
    "    call 3f\n"
    "    fxsave64 192+stored(%rip)\n"
    "    fninit\n"
    "    ret\n"
    "3:  ret\n");

/* "exact", "none" or, which must not be, "else". */
static const char *kind(uint64_t is, const char *wanted, uint64_t mask)
{
    if (is == ((uint64_t)wanted & mask))
        return "exact";
    return is ? "else" : "none";
}

int main(void)
{
    uint64_t fx;
    watchdog(WATCHDOG_SECONDS);
    CHECK_IS(offsetof(struct stored, fx), 192);
    for (int i = 0; i < 5; i++) {
        memset(&stored, 0x77, sizeof stored);
        use_x87();
        memcpy(&fx, stored.fx + 8, 8);
        const char *told[] = {kind(stored.env_same[3], x87_same, 0xffffffff),
                              kind(stored.env_far[3], x87_far, 0xffffffff),
                              kind(stored.save[3], x87_save, 0xffffffff), kind(fx, x87_fx, ~0ull)};
        say("%s, %s, %s, %s\n", told[0], told[1], told[2], told[3]);
        for (int k = 0; k < 4; k++)
            CHECK(strcmp(told[k], "else"));
    }
    return verdict();
}
