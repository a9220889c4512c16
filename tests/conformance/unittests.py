# SPDX-License-Identifier: MIT
"""Run tests of python's own suite and print one line for each, without times: unittests.py MODULE... [-PATTERN...]

A test whose name contains a PATTERN is left out: the files say why. What the tests print themselves goes to stderr.
"""
import os
import sys
import unittest

from test import support

result_lines = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)
# Under a tracer a second is short.
support.LOOPBACK_TIMEOUT = support.SHORT_TIMEOUT = support.LONG_TIMEOUT = 600.0


class Result(unittest.TextTestResult):
    def say(self, test, what):
        print(test.id().removeprefix("test."), what, file=result_lines)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.say(test, "ok")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.say(test, "skipped")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.say(test, "failed")

    def addError(self, test, err):
        super().addError(test, err)
        self.say(test, f"failed by {err[0].__name__}")


def wanted(suite, patterns):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from wanted(test, patterns)
        elif not any(p in test.id() for p in patterns):
            yield test


patterns = [a[1:] for a in sys.argv[1:] if a.startswith("-")]
names = [a for a in sys.argv[1:] if not a.startswith("-")]
tests = unittest.TestSuite(wanted(unittest.defaultTestLoader.loadTestsFromNames(names), patterns))
outcome = unittest.TextTestRunner(resultclass=Result).run(tests)
print(len(outcome.failures) + len(outcome.errors), "failed", file=result_lines)
sys.exit(not outcome.wasSuccessful())
