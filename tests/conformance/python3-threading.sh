#!/bin/sh
# SPDX-License-Identifier: MIT
# python3's own tests of threads and of ctypes: locks, fork from threads, exit with threads; closures and callbacks of libffi.
# needs: python3

python3 -c 'import test.test_threading' || { echo "needs libpython3.11-testsuite: scripts/deps conformance"; exit 77; }
# Left out: what only waits, or asks whether waiting took about half a second.
$GAIT python3 "$(dirname "$0")/unittests.py" test.test_threading -timeout -print_exception_stderr
echo "status $?"
$GAIT python3 "$(dirname "$0")/unittests.py" test.test_ctypes
echo "status $?"
