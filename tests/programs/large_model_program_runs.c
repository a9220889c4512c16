/* SPDX-License-Identifier: MIT */
/* A program whose code and data may be any distance apart, every address being 64 bits long, does what all do. */
/* build: -no-pie -fno-pie -mcmodel=large */
#include "static_program_runs.c"
