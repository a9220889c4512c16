/* SPDX-License-Identifier: MIT */
/* A static program that relocates itself does what all do. */
/* build: -static-pie */
#include "static_program_runs.c"
