/* SPDX-License-Identifier: MIT */
/* Inside the tool's process: its states, each led by a thread. */
#ifndef STATE_H
#define STATE_H

#include "tool/runner.h"

/* Load the tool, give it the batches, let it finish, print, end the process. */
_Noreturn void state_main(struct runner *r);

#endif
