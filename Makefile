# SPDX-License-Identifier: MIT
# The whole build, top to bottom. Everything is made in build/.
#
#   make            build/gait                      make check        the tests of minutes
#   make demo       record a program, look at it    make check-all    the long ones too
#   make install    PREFIX=/usr/local               make conformance  real programs
#   make bench      what running under gait costs   make state        a million random sequences
#   make kernels    the programs to measure with

PREFIX ?= /usr/local
VERSION := $(shell sed -n 's/.define GAIT_VERSION "\(.*\)"/\1/p' src/cmd/cmd.h)
CC     ?= gcc
B      := build
WARN   := -Wall -Wextra -Wshadow $(if $(CI),-Werror)
CFLAGS ?= -O2 -g
HOST   := -std=gnu11 $(WARN) -Isrc -Iinclude -D_GNU_SOURCE -pthread -fPIC -fvisibility=hidden
# The guest lives in somebody else's program: no libc, no vector registers, no thread-local storage, nothing relocated.
GUEST  := -std=gnu11 -O2 -g -ffreestanding -fPIE -fvisibility=hidden -fno-stack-protector -fcf-protection=none \
          -mgeneral-regs-only -mfsgsbase -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections \
          -fno-strict-aliasing $(WARN) -Wconversion -Isrc
LIBS   := -lZydis -lzstd -lbz2 -lxxhash -ldw -lelf -lm

.PHONY: all lib examples demo check check-all conformance unit insn oracle cli doors fuzz state kernels bench bench-disk install clean
all: $(B)/gait
.SECONDARY:

# -- The guest: one blob, checked, then bytes inside gait ---------------------------------------
GUEST_OBJ := $(patsubst src/guest/%,$(B)/guest/%.o,$(basename $(wildcard src/guest/*.[cS])))
$(B)/guest/%.o: src/guest/%.c
	@mkdir -p $(@D)
	$(CC) $(GUEST) -MMD -MP -c $< -o $@
$(B)/guest/%.o: src/guest/%.S
	@mkdir -p $(@D)
	$(CC) $(GUEST) -MMD -MP -c $< -o $@
$(B)/guest.elf: $(GUEST_OBJ) src/guest/guest.ld scripts/check-guest
	$(CC) -nostdlib -static-pie -Wl,-T,src/guest/guest.ld -Wl,--gc-sections -Wl,-z,noexecstack -Wl,--build-id=none \
	    -o $@.new $(GUEST_OBJ)
	scripts/check-guest $@.new
	mv $@.new $@
$(B)/guest.bin: $(B)/guest.elf
	objcopy -O binary -j .text -j .rodata $< $@
$(B)/obj/host/guest_blob.o: src/host/guest_blob.S $(B)/guest.bin
	@mkdir -p $(@D)
	$(CC) -Wa,-I$(B) -c $< -o $@

# -- gait ---------------------------------------------------------------------------------------
SRC := $(filter-out src/guest/%, $(wildcard src/*/*.c))
OBJ := $(SRC:src/%.c=$(B)/obj/%.o) $(B)/obj/host/guest_blob.o
$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(HOST) $(CFLAGS) -MMD -MP -c $< -o $@
# Tools find the functions of gait.h in it.
$(B)/gait: $(OBJ)
	$(CC) $(HOST) $(CFLAGS) -Wl,--export-dynamic-symbol='gait_*' -o $@ $(OBJ) $(LIBS)

# The same for programs that ask for events themselves; it shows what gait.h declares.
$(B)/libgait.so.1: $(OBJ) src/tool/gait.map
	$(CC) $(HOST) $(CFLAGS) -shared -Wl,-soname,libgait.so.1 -Wl,--version-script,src/tool/gait.map -o $@ \
	    $(filter-out $(B)/obj/cmd/%,$(OBJ)) $(LIBS)
lib: $(B)/libgait.so.1

# Tools of one's own, as anybody would make them.
TOOLS := $(patsubst examples/%.c,$(B)/examples/%.so,$(wildcard examples/*.c))
$(B)/examples/%.so: examples/%.c include/gait.h
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 -g $(WARN) -Iinclude -shared -fPIC -o $@ $<
examples: $(TOOLS)

# -- Tests --------------------------------------------------------------------------------------
# Unit tests link with all of gait but main, under the sanitizers, from objects of their own.
SAN     := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_OBJ := $(patsubst src/%.c,$(B)/san/%.o,$(filter-out src/cmd/main.c,$(SRC))) $(B)/obj/host/guest_blob.o
UNIT    := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
$(B)/san/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(HOST) -O1 -g $(SAN) -MMD -MP -c $< -o $@
$(B)/unit/%: tests/unit/%.c $(wildcard tests/unit/*.h) $(SAN_OBJ)
	@mkdir -p $(@D)
	$(CC) $(HOST) -O1 -g $(SAN) -Itests/unit -o $@ $< $(SAN_OBJ) $(LIBS)

# A program that uses the library, under the same.
$(B)/tool/ask: tests/tool/ask.c tests/tool/lines.h include/gait.h $(SAN_OBJ)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -Iinclude -pthread -O1 -g $(SAN) -o $@ $< $(filter-out $(B)/san/cmd/%,$(SAN_OBJ)) $(LIBS)

# Fuzzers: the translator on random code, the reader on random files.
FUZZ     := $(B)/fuzz/fuzz_translate $(B)/fuzz/fuzz_trace $(B)/fuzz/fuzz_pack
FUZZ_SRC := $(filter-out src/cmd/% src/host/% src/tool/%,$(SRC))
FUZZ_SAN := -O1 -g -fno-sanitize-recover=undefined
FUZZ_OBJ := $(FUZZ_SRC:src/%.c=$(B)/fuzzed/%.o)
$(B)/fuzzed/%.o: src/%.c
	@mkdir -p $(@D)
	clang $(HOST) $(FUZZ_SAN) -fsanitize=fuzzer-no-link,address,undefined -MMD -MP -c $< -o $@
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_OBJ)
	@mkdir -p $(@D)
	clang $(HOST) $(FUZZ_SAN) -fsanitize=fuzzer,address,undefined -o $@ $< $(FUZZ_OBJ) $(LIBS)

ORACLE := $(B)/oracle/stepper $(B)/oracle/pin.so
$(B)/oracle/stepper: $(addprefix tests/oracle/,stepper.c accesses.c lane.c accesses.h lane.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) -o $@ $(filter %.c,$^) -lZydis
$(B)/oracle/pin.so: tests/oracle/pin.c
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) -shared -fPIC -o $@ $<

$(B)/oracle/probe: $(addprefix tests/oracle/,probe.c accesses.c accesses.h)
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -O2 $(WARN) -no-pie -o $@ $(filter %.c,$^) -lZydis

# Random sequences; at fixed addresses, which is why the program must be too.
STATE := $(B)/state/random_state
$(STATE): $(wildcard tests/state/*.[chS]) src/base/base.h
	@mkdir -p $(@D)
	$(CC) $(HOST) $(CFLAGS) -Itests/state -no-pie -o $@ $(filter %.c %.S,$^) -lZydis

# What every change must pass, in minutes.
check: $(B)/gait $(UNIT) $(FUZZ) $(ORACLE) $(STATE) kernels lib examples $(B)/tool/ask
	@tests/run doors scripts/check-doors $(foreach t,$(UNIT),-- $(notdir $(t)) $(t)) \
	    -- insn tests/insn/run.py \
	    -- cli tests/cli/run.py \
	    -- export tests/export/run.py \
	    -- cache tests/cache/run.py \
	    -- why tests/why/run.py \
	    -- mix tests/mix/run.py \
	    -- branches tests/branches/run.py \
	    -- deps tests/deps/run.py \
	    -- analyze tests/analyze/run.py \
	    -- attach tests/attach/run.py \
	    -- partial tests/partial/run.py \
	    -- budget tests/budget/run.py \
	    -- novel tests/novel/run.py \
	    -- calls tests/calls/run.py \
	    -- tool tests/tool/run.py \
	    -- reuse tests/reuse/run.py \
	    -- patterns tests/patterns/run.py \
	    -- variables tests/variables/run.py \
	    -- programs tests/programs/run.sh small \
	    -- kernels tests/kernels/run.sh \
	    -- conformance tests/conformance/run small \
	    -- oracle tests/oracle/run.sh small \
	    -- same tests/same/run.sh small \
	    -- naive tests/oracle/naive.sh small \
	    -- values tests/values/run.py \
	    -- state tests/state/run.sh 20000 \
	    -- fuzz-translate tests/fuzz/run.sh $(B)/fuzz/fuzz_translate 60 1 \
	    -- crash tests/crash/run.py 3 \
	    -- fuzz-trace tests/fuzz/run.sh $(B)/fuzz/fuzz_trace 20 1 \
	    -- fuzz-pack tests/fuzz/run.sh $(B)/fuzz/fuzz_pack 20 1

# The long ones: all programs of the judge, the witness, every case in the whole stress matrix.
check-all: check $(B)/oracle/probe $(STATE)
	@tests/run oracle tests/oracle/run.sh all -- same tests/same/run.sh all -- naive tests/oracle/naive.sh all -- values env VALUES=all tests/values/run.py -- witness tests/oracle/witness.sh -- cachegrind tests/cache/witness.py -- patterns-kernels env ALL=1 tests/patterns/kernels.py \
	    -- probe $(B)/oracle/probe -- stress tests/insn/stress.sh -- programs tests/programs/run.sh all \
	    -- crash tests/crash/run.py 100 -- attach-servers tests/attach/servers.py

# Real programs, natively and under gait. Without perl's source the perl-* files are skipped.
conformance: $(B)/gait
	scripts/deps conformance
	-scripts/source perl $(B)/conformance/cache
	tests/conformance/run all
	tests/attach/servers.py

# A million random sequences.
state: $(B)/gait $(STATE)
	tests/state/run.sh 1000000

fuzz: $(FUZZ)
	tests/fuzz/run.sh $(B)/fuzz/fuzz_translate 600
	tests/fuzz/run.sh $(B)/fuzz/fuzz_trace 600
	tests/fuzz/run.sh $(B)/fuzz/fuzz_pack 600

# -- Measuring, showing, installing --------------------------------------------------------------
# Small programs, affine and irregular, built as users build theirs; each checks its own result.
KERNELS := $(patsubst bench/kernels/%.c,$(B)/kernels/%,$(wildcard bench/kernels/*.c))
$(B)/kernels/%: bench/kernels/%.c $(wildcard bench/kernels/*.h)
	@mkdir -p $(@D)
	$(CC) -O2 -g -std=gnu11 $(WARN) -o $@ $< -lm
kernels: $(KERNELS)

$(B)/bench/column $(B)/bench/store $(B)/bench/translate: $(B)/bench/%: bench/%.c $(OBJ)
	@mkdir -p $(@D)
	$(CC) $(HOST) $(CFLAGS) -o $@ $< $(filter-out $(B)/obj/cmd/%,$(OBJ)) $(LIBS)

bench: $(B)/gait $(KERNELS)
	bench/speed

bench-disk: $(B)/gait $(B)/bench/store $(KERNELS)
	bench/disk

demo: $(B)/gait
	@scripts/demo

install: $(B)/gait $(B)/libgait.so.1
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,bin include lib/pkgconfig share/man/man1 share/man/man3 share/man/man5)
	install $(B)/gait $(DESTDIR)$(PREFIX)/bin/gait
	install -m 644 include/gait.h include/gait_mark.h $(DESTDIR)$(PREFIX)/include
	install $(B)/libgait.so.1 $(DESTDIR)$(PREFIX)/lib
	ln -sf libgait.so.1 $(DESTDIR)$(PREFIX)/lib/libgait.so
	sed 's,@PREFIX@,$(PREFIX),; s,@VERSION@,$(VERSION),' src/tool/gait.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/gait.pc
	install -m 644 docs/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 docs/man/*.3 $(DESTDIR)$(PREFIX)/share/man/man3
	install -m 644 docs/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5

-include $(wildcard $(B)/obj/*/*.d $(B)/san/*/*.d $(B)/fuzzed/*/*.d $(B)/guest/*.d)

clean:
	rm -rf $(B)
