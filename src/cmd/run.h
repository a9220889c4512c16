/* SPDX-License-Identifier: MIT */
/* Commands that run a program. */
#ifndef RUN_H
#define RUN_H

#include "host/host.h"

/* Warn of what was not seen. */
void report_run(const struct run_options *o, const struct run_result *r);
/* End as the program ended: the same status, or the same signal (without a core of ours). */
int end_like(int status);

#endif
