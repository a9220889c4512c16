/* SPDX-License-Identifier: MIT */
/* Where everything lies that a sequence can see. Addresses are fixed: what a register or a return
 * address holds must be the same natively and under gait.
 *
 *     low    scratch page, stack page, two pages of save areas and counters | guard | constants
 *     high   scratch page, more than 2 GB away from all else
 *
 * Low and high scratch and the stack are there twice more, FS_AWAY and GS_AWAY further on, so that
 * any address that is good is also good with fs or gs before it. Code lies within 2 GB of the
 * scratch page of its own half; of the code cache only the low half is within 2 GB. */
#ifndef MACHINE_H
#define MACHINE_H

#define LOW_AT   0x78000000
#define STACK_AT (LOW_AT + 0x1000)
#define SAVE_AT  (LOW_AT + 0x2000)
#define CONST_AT (LOW_AT + 0x5000)
#define HIGH_AT  0x200000000000
#define FS_AWAY  0x100000000
#define GS_AWAY  0x200000000

#define LOW_CODE_AT  0x7b000000
#define HIGH_CODE_AT 0x200010000000
#define CODE_ROOM    0x3000000

/* In the save pages: areas of one kind each, so that it is known what their fields mean. */
#define XSAVE_AT    (SAVE_AT + 0x000)
#define XSAVEC_AT   (SAVE_AT + 0xc00)
#define XSAVE_ROOM  0xc00
#define FXSAVE_AT   (SAVE_AT + 0x1800)
#define FNSTENV_AT  (SAVE_AT + 0x1a00)
#define FNSTENVW_AT (SAVE_AT + 0x1a40)
#define FNSAVE_AT   (SAVE_AT + 0x1a80)
#define FNSAVEW_AT  (SAVE_AT + 0x1b00)
#define COUNTERS_AT (SAVE_AT + 0x1c00)

/* In the constant page. */
#define POINTERS_AT (CONST_AT + 0x000) /* 16 pointers into low (even) and high (odd) scratch */
#define SMALLS_AT   (CONST_AT + 0x100) /* 64 bytes from -32 to 31 */
#define DWORDS_AT   (CONST_AT + 0x200) /* 4 vectors of small signed indices */
#define QWORDS_AT   (CONST_AT + 0x300)
#define MXCSRS_AT   (CONST_AT + 0x400) /* 16 of them, all exceptions masked */
#define FCWS_AT     (CONST_AT + 0x440) /* 16 of them, all exceptions masked */
#define LEAVE_AT    (CONST_AT + 0x480) /* the address of state_leave */

/* What state_enter loads, what state_leave stores, and what our own C code needs back. */
#define IN_AT   0x7a000000
#define OUT_AT  0x7a001000
#define HOST_AT 0x7a002000

/* Offsets in struct state. */
#define S_FLAGS  0x080
#define S_FS     0x088
#define S_GS     0x090
#define S_TARGET 0x098
#define S_K      0x0c0
#define S_FX     0x100
#define S_VECTOR 0x300
#define S_SIZE   0xb00

/* Offsets at HOST_AT. */
#define H_RSP   0x00
#define H_FS    0x08
#define H_MXCSR 0x10
#define H_LEVEL 0x14 /* which vector registers there are: enum vector_level */

#endif
