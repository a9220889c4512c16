# SPDX-License-Identifier: MIT
# The whole build, top to bottom. Everything is made in build/.
#
#   make            build/gait                      make check        the tests of minutes
#   make demo       record a program, look at it    make check-all    the long ones too
#   make install    PREFIX=/usr/local               make bench-engine what the engine costs

PREFIX ?= /usr/local
CC     ?= gcc
B      := build
WARN   := -Wall -Wextra -Wshadow $(if $(CI),-Werror)
CFLAGS ?= -O2 -g
HOST   := -std=gnu11 $(WARN) -Isrc -D_GNU_SOURCE -pthread
# The guest lives in somebody else's program: no libc, no vector registers, no thread-local storage, nothing relocated.
GUEST  := -std=gnu11 -O2 -g -ffreestanding -fPIE -fvisibility=hidden -fno-stack-protector -fcf-protection=none \
          -mgeneral-regs-only -mfsgsbase -fno-asynchronous-unwind-tables -ffunction-sections -fdata-sections \
          -fno-strict-aliasing $(WARN) -Wconversion -Isrc
LIBS   := -lZydis -lzstd -lxxhash

.PHONY: all demo check check-all unit insn oracle cli doors fuzz bench-engine install clean
all: $(B)/gait

# -- The guest: one blob, checked, then bytes inside gait ---------------------------------------
GUEST_OBJ := $(B)/guest/guest.o $(B)/guest/entry.o
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
	objcopy -O binary -j .text $< $@
$(B)/obj/host/guest_blob.o: src/host/guest_blob.S $(B)/guest.bin
	@mkdir -p $(@D)
	$(CC) -Wa,-I$(B) -c $< -o $@

# -- gait ---------------------------------------------------------------------------------------
SRC := $(filter-out src/guest/%, $(wildcard src/*/*.c))
OBJ := $(SRC:src/%.c=$(B)/obj/%.o) $(B)/obj/host/guest_blob.o
$(B)/obj/%.o: src/%.c
	@mkdir -p $(@D)
	$(CC) $(HOST) $(CFLAGS) -MMD -MP -c $< -o $@
$(B)/gait: $(OBJ)
	$(CC) $(HOST) $(CFLAGS) -o $@ $(OBJ) $(LIBS)

-include $(wildcard $(B)/obj/*/*.d $(B)/guest/*.d)

clean:
	rm -rf $(B)
