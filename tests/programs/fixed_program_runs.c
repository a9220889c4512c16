/* SPDX-License-Identifier: MIT */
/* A program at a fixed low address, where absolute addresses fit into 32 bits, does what all do. */
/* build: -no-pie -fno-pie */
#include "static_program_runs.c"
