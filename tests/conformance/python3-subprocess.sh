#!/bin/sh
# SPDX-License-Identifier: MIT
# python3's own tests of child processes: vfork and exec, pipes, descriptors that are closed or passed on, groups and sessions.
# needs: python3

python3 -c 'import test.test_subprocess' || { echo "needs libpython3.11-testsuite: scripts/deps conformance"; exit 77; }
# Left out: the second pass without poll(), what only waits, and deadlines of less than a second.
$GAIT python3 "$(dirname "$0")/unittests.py" test.test_subprocess -NoPoll -timeout -_dead -repeated_call
echo "status $?"
