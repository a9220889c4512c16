#!/bin/sh
# SPDX-License-Identifier: MIT
# perl's core tests of processes, threads and signals: fork, exec, wait, alarm, handlers that die, sleeps that are interrupted.
# needs: perl
# sink: decode
. "$(dirname "$0")/perl_core"

# They mostly wait, so they do it side by side.
tests="op/alarm.t op/die_exit.t op/exec.t op/fork.t op/getppid.t op/magic.t op/sigdispatch.t op/sigsystem.t op/threads.t io/pipe.t"
for t in $tests; do core $t >$t.line & done
wait
for t in $tests; do cat $t.line; done
