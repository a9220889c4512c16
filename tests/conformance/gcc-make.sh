#!/bin/sh
# SPDX-License-Identifier: MIT
# gcc and make -j2: a project of 60 files builds to the same bytes, rebuilds only what changed, and stops at an error.
# needs: gcc make ar sha256sum

# Each file has a few functions of different kinds; a library, a program, generated headers.
i=1
: >all.h
while [ $i -le 60 ]; do
    cat >"part$i.c" <<END
#include <stdio.h>
#include <string.h>
#include "all.h"
struct item$i { unsigned id; char name[$((8 + i % 5))]; double weight; };
static unsigned mix$i(unsigned x) { for (int k = 0; k < $((3 + i % 4)); k++) x = (x << $((i % 7 + 1))) ^ (x >> 3) ^ ${i}u; return x; }
static const char *kind$i(unsigned x) { switch (x % 5) { case 0: return "zero"; case 1: return "one"; case 3: return "three"; default: return "other"; } }
unsigned part$i(unsigned x)
{
    struct item$i it[4];
    for (unsigned k = 0; k < 4; k++) {
        it[k].id = mix$i(x + k);
        it[k].weight = it[k].id * 0.5 + $i;
        snprintf(it[k].name, sizeof it[k].name, "%s", kind$i(it[k].id));
    }
    return it[0].id + (unsigned)strlen(it[3].name) + (unsigned)(it[2].weight / 3);
}
END
    echo "unsigned part$i(unsigned);" >>all.h
    i=$((i + 1))
done
cat >main.c <<'END'
#include <stdio.h>
#include "calls.h"
int main(void)
{
    unsigned sum = 1;
    CALLS
    printf("%u\n", sum);
    return sum % 100;
}
END
cat >Makefile <<'END'
PARTS := $(sort $(wildcard part*.c))
CFLAGS := -O1 -fno-ident
all: program
calls.h: $(PARTS)
	@sed -n 's/^unsigned \(part[0-9]*\)(unsigned x)/sum += \1(sum);/p' $(PARTS) | tr '\n' ' ' | sed 's/^/#define CALLS /' >$@; echo >>$@
main.o: calls.h
%.o: %.c all.h
	$(CC) $(CFLAGS) -MMD -include all.h -c $< -o $@
libparts.a: $(PARTS:.c=.o)
	rm -f $@; $(AR) rcD $@ $^
program: main.o libparts.a
	$(CC) -o $@ $^
-include $(wildcard *.d)
broken: all
	@$(MAKE) --no-print-directory -C sub
END
mkdir sub
printf 'all: a b\na: ; @exit 3\nb: ; @echo unreachable\n' >sub/Makefile

$GAIT make -j2 >log 2>&1
echo "make $?"
sort log | sed 's/cc .*-o/cc -o/' | uniq -c | sort | tail -n 70
./program
echo "program $?"
sha256sum *.o libparts.a program
touch part7.c
$GAIT make -j2 | grep -c -- -c
$GAIT make -q
echo "up to date $?"
$GAIT make -n clean broken 2>&1 | sed 's/^make[^:]*: //'
$GAIT make broken 2>&1
echo "broken $?"
# A compiler's own checks: errors, warnings, an ICE-free large function at -O2, and link-time optimisation with jobs.
echo 'int f(void) { return undeclared; }' >bad.c
$GAIT gcc -c bad.c 2>&1 | grep -c "undeclared"
$GAIT gcc -O2 -flto=2 -fno-ident -o lto part1.c part2.c -x c - <<'END'
unsigned part1(unsigned), part2(unsigned);
int main(void) { return (part1(2) + part2(3)) % 50; }
END
./lto
echo "lto $?"
echo 'int main(void) { return missing(); }' | $GAIT gcc -x c - 2>&1 | grep -c 'undefined reference'
