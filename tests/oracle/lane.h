/* SPDX-License-Identifier: MIT */
/* The judge's fast lane: runs ordinary instructions inside the program, without a stop. */

/*
 * A single step by ptrace takes 20 us on a virtual machine. The lane takes 0.1 us: a runner mapped
 * into the program saves the registers in a record, executes one instruction from a copy with the
 * program's registers, and takes the next. Nothing is predicted or merged, and addresses are not
 * its business: the records are read outside, and go through the same insn_accesses() as steps do.
 * Whatever is not ordinary is left to ptrace: the runner
 * stops and the caller steps that instruction in its own place.
 *
 * The program's code is never changed. The mapping (LANE_BASE) is far from where the kernel puts
 * anything by itself, so the layout is the same with the lane and without.
 */
#ifndef ORACLE_LANE_H
#define ORACLE_LANE_H

#include "accesses.h"

struct lane;

enum lane_stop {
    LANE_MISS = 1, /* the runner met an instruction it has no copy of; or one that changed */
    LANE_SLOW,     /* the next instruction must be stepped */
    LANE_FULL,     /* the records must be read */
    LANE_LEFT,     /* lane_leave() was obeyed */
};

/* Make the lane; NULL if the system does not let us. */
struct lane *lane_open(void);

/* Map it into a program that is stopped at its first instruction; false if that fails. */
bool lane_attach(struct lane *l, pid_t pid);

/* Make the program, stopped at regs, ready to run in the lane with PTRACE_CONT. */
void lane_enter(struct lane *l, const struct user_regs_struct *regs);

/* Whether a program stopped with SIGTRAP at this pc is the runner giving up, and why. */
bool lane_has_stopped(uint64_t pc);
enum lane_stop lane_reason(const struct lane *l);

/* Ask a running lane to stop before the next instruction. */
void lane_leave(struct lane *l);

/* Forget a record whose instruction was not completed because it faulted. */
void lane_forget_unfinished(struct lane *l);

/*
 * The records: put the registers before instruction i into m and return the instruction. With
 * i == lane_count() the registers are those after the last, and NULL is returned.
 */
unsigned lane_count(const struct lane *l);
const struct insn *lane_record(const struct lane *l, unsigned i, struct machine *m);

/* Supply copies of the instructions at the pc where a miss happened. */
void lane_supply(struct lane *l);

/* A system call is about to change mappings: copies of what it removes are no longer good. */
void lane_watch_syscall(struct lane *l, const struct user_regs_struct *regs);

#endif
