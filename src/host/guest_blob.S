/* SPDX-License-Identifier: MIT */
/* The guest, as bytes inside gait. */
    .section .rodata
    .globl guest_blob, guest_blob_end
    .balign 4096
guest_blob:
    .incbin "guest.bin"
guest_blob_end:
    .section .note.GNU-stack, "", @progbits
