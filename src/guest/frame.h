/* SPDX-License-Identifier: MIT */
/* A signal frame as the kernel makes it on x86-64; its own headers do not name all of it. */
#ifndef FRAME_H
#define FRAME_H

#include "base/base.h"

struct registers {
    u64 r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, flags;
    u16 selectors[4]; /* cs, gs, fs, ss */
    u64 err, trapno, oldmask, cr2;
    u64 fpstate; /* address of the vector state, 0 for none */
    u64 reserved[8];
};

struct context {
    u64 flags, link;
    struct {
        u64 sp;
        u32 flags, pad;
        u64 size;
    } stack;
    struct registers r;
    u64 mask;
};

struct frame {
    u64 restorer;
    struct context context;
    u64 info[16];
};
_Static_assert(sizeof(struct registers) == 256 && sizeof(struct frame) == 440, "the kernel's");

/* In the vector state: at SW_AT what the kernel says about it, at HEADER_AT the components that are in it,
 * behind it a second magic word. */
struct software {
    u32 magic, extent; /* extent: with the second magic word */
    u64 features;
    u32 size, pad[7];
};
enum {
    SW_AT = 464,
    HEADER_AT = 512,
    XSTATE_MAGIC1 = 0x46505853,
    XSTATE_MAGIC2 = 0x46505845,
};

#endif
