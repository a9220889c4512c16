/* SPDX-License-Identifier: MIT */
/* Where things lie in the shared pages, as plain numbers, for C, for assembly and for emitted code
 * alike. */
#ifndef LAYOUT_H
#define LAYOUT_H

#define WIRE_VERSION 3

/* One memfd holds everything both sides share; the program maps its parts side by side at one base
 * address, close enough to the executable that emitted code reaches its data, and each part to the
 * others, with 32-bit offsets:
 *
 *   base -> | guest R-X | control, threads, counts RW | index R-- | (jump tables) | targets R-- |
 *           | cache R-X | buffers RW |
 *
 * Only the jump tables are mapped elsewhere: below 2 GB, so that emitted code can index them
 * without a base register. */
#define WIRE_GUEST_OFF  0x0
#define WIRE_GUEST_SIZE 0x20000
#define WIRE_CTL_OFF    (WIRE_GUEST_OFF + WIRE_GUEST_SIZE)
#define WIRE_CTL_SIZE   0x140000
#define WIRE_THREAD_OFF (WIRE_CTL_OFF + WIRE_CTL_SIZE)
/* One thread's block: the struct, then the stack on which the kernel starts our signal handler, then
 * the guest's own stack, both growing down. Its address is a multiple of its size, so that the
 * handler finds it from the stack pointer. */
#define WIRE_THREAD_SIZE 0x10000
#define WIRE_THREADS     512
/* One byte for each piece of code that is recorded only while it is new: how often yet. */
#define WIRE_NOVEL_OFF  (WIRE_THREAD_OFF + WIRE_THREADS * WIRE_THREAD_SIZE)
#define WIRE_NOVEL_SIZE (WIRE_INDEX_OFF - WIRE_NOVEL_OFF)
#define WIRE_INDEX_OFF   0x2200000
#define WIRE_INDEX_LOG2  20
#define WIRE_INDEX_SIZE  (24ul << WIRE_INDEX_LOG2)
#define WIRE_JUMP_OFF    (WIRE_INDEX_OFF + WIRE_INDEX_SIZE)
#define WIRE_JUMP_LOG2   20
#define WIRE_JUMP_SIZE   (8ul << WIRE_JUMP_LOG2)
/* One table for jumps and calls, one behind it for returns; and the same for quiet units. */
#define WIRE_JUMP_PAIR  (2 * WIRE_JUMP_SIZE)
#define WIRE_JUMP_AREA  (2 * WIRE_JUMP_PAIR)
#define WIRE_TARGET_OFF (WIRE_JUMP_OFF + WIRE_JUMP_AREA)
/* One per exit id: the app pc it leads to, so that the guest can leave without us. */
#define WIRE_TARGET_SIZE (8ul << 24)
#define WIRE_CACHE_OFF   (WIRE_TARGET_OFF + WIRE_TARGET_SIZE)
#define WIRE_CACHE_SIZE  0x20000000ul
#define WIRE_BUF_OFF     (WIRE_CACHE_OFF + WIRE_CACHE_SIZE)
#define WIRE_BUF_AREA    0xa000000ul
#define WIRE_SIZE        (WIRE_BUF_OFF + WIRE_BUF_AREA)
/* The host keeps a page of its own right before its mapping. */
#define WIRE_NODE_ROOM 4096

/* The thread block, addressed through gs. The first 64 bytes are what hot code touches. */
#define T_LIMIT   0x00 /* the gate: a unit may run while the record pointer is not above this */
#define T_APP_R11 0x08 /* the program's r11; the register itself is the record pointer */
#define T_R10     0x10 /* the program's r10 on the way through an indirect branch */
#define T_TARGET  0x18 /* and where that branch goes */
#define T_SPILL0  0x20 /* scratch registers of emitted code */
#define T_SPILL1  0x28
#define T_SPILL2  0x100
#define T_SPILL3  0x108
#define T_PTR     0x30 /* the record pointer while the thread is outside the cache */
#define T_APP_GS  0x38 /* the program's gs base; the real one is ours */
#define T_REASON  0x40 /* exit id, or cache address, handed over in r11 */
#define T_RESUME  0x48 /* cache address where the thread goes on */
#define T_SELF    0x50 /* linear address of this block */
#define T_PC      0x58 /* the program's pc while it is outside the cache */
#define T_FLAGS   0x60
#define T_RESULT  0x68 /* a system call's result on its way back */
/* Set around a call that makes a task: the block of the thread it will be, or 1 for a task that is
 * to run natively and clears this when it needs us no more. */
#define T_CLONING   0x70
#define T_JUMP_MASK 0x78  /* which bits of a target index the jump table */
#define T_REGS      0x80  /* the 16 general registers in hardware order; slot 11 is unused */
#define T_IN_USE    0x110 /* 32 bits; cleared last of all when a thread ends */
#define T_INSIDE    0x118 /* the epoch in which it entered the cache; 0 while it is outside */
#define T_PENDING   0x120 /* 32 bits; signals to deliver now: no system call may be begun */
#define T_LENT \
    0x130 /* the program's value of a register that holds the record pointer instead of r11 */
/* Of a partial trace; see translate/versions.c. */
#define T_QUIET   0x138 /* 32 bits; the thread runs quiet units: they record nothing */
#define T_ARMED   0x13c /* 32 bits; quiet units may be left for recording ones */
#define T_ENTERED 0x140 /* ~rsp at the head of the function that is being recorded, or one of these: */
#define ENTERED_NONE   (1ull << 62) /* none is */
#define ENTERED_ALWAYS (ENTERED_NONE + 1) /* a thread that such a function has made: it is recorded to its end */
#define T_DEADLINE 0x148 /* of a budget */
#define T_RESTING  0x150 /* 32 bits; enum resting: the thread runs the program's own code */
#define REST_NATIVE 1
#define T_LINGER   0x15c /* 32 bits; how many familiar units are recorded yet; see translate/novel.c */
#define T_CALLS             0x1fc0 /* below this, room for FRAME_LIMIT words that nobody reads: see hot.c */
#define T_SIGNAL_STACK      0x2000
#define T_SIGNAL_STACK_SIZE 0x7000
#define T_STACK_TOP         WIRE_THREAD_SIZE

/* Before the guest's entries for missed branches stand so many bytes: a move of r10 to rcx. Doors that had rcx there go that way. */
#define MISS_MOVE 3

/* Units within one such block of code may follow each other without passing a gate; a buffer keeps
 * room for all that a block and one more unit can store: at worst a 5-byte instruction stores 160
 * bytes. */
#define GATE_BLOCK   1024
#define BUFFER_SLACK 49152

/* Byte offset of a record's first slot, and the shape of its header: exit id above, number of slots
 * below. */
#define RECORD_SLOTS_AT   4
#define RECORD_ID_SHIFT   8
#define RECORD_SLOT_LIMIT 255

#endif
