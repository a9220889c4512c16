#!/bin/sh
# SPDX-License-Identifier: MIT
# python3's own tests of signals and faults: handlers, masks, timers, sigwait, wakeup pipes, and tracebacks of crashes.
# needs: python3

python3 -c 'import test.test_signal' || { echo "needs libpython3.11-testsuite: scripts/deps conformance"; exit 77; }
# Left out: what only waits for seconds.
$GAIT python3 "$(dirname "$0")/unittests.py" test.test_signal -siginterrupt_off -without_siginterrupt -itimer_virtual -sigtimedwait_timeout
echo "status $?"
$GAIT python3 "$(dirname "$0")/unittests.py" test.test_faulthandler -later_twice -later_file -later_fd -later_cancel -later_repeat
echo "status $?"
