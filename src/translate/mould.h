/* SPDX-License-Identifier: MIT */
/* Decoding by comparison. Most instructions differ from one that was decoded before in nothing but the numbers in them: their prefixes, opcode,
 * modrm and sib bytes are the same. Such a one is a mould: a copy of it with the new numbers takes a
 * sixth of the instructions. */
#ifndef MOULD_H
#define MOULD_H

#include "translate/insn.h"

struct moulds;

struct moulds *moulds_new(void);
void moulds_free(struct moulds *m);
/* As insn_decode, with the same result. */
bool mould_decode(struct moulds *m, struct insn *in, u64 pc, const u8 *bytes, size_t size);

#endif
