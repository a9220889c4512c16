# SPDX-License-Identifier: MIT
"""What suites of cases share: @case, require, programs, traces and their events, and main.

    from cases import *
    use("reuse")                                    its files are in build/reuse
    @case
    def something_holds(): require(..., why)
    main()
"""
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
GAIT = ROOT / "build/gait"
CASES = []
_suite = {}


class Failed(Exception):
    pass


def use(name):
    """The suite's name; a directory for its files."""
    _suite.update(name=name, work=ROOT / "build" / name)
    _suite["work"].mkdir(parents=True, exist_ok=True)
    return _suite["work"]


def work():
    """That directory."""
    return _suite["work"]


def case(function):
    CASES.append(function)
    return function


def require(holds, why):
    if not holds:
        raise Failed(why)


def build(name, source, *options, compiler="gcc"):
    program = _suite["work"] / name
    subprocess.run([compiler, "-O2", "-w", "-pthread", "-Wl,--no-warn-execstack", *options, "-o", program, source, "-lm"], check=True)
    return program


def record(name, *argv, **env):
    """The trace of a command, recorded with these environment variables."""
    trace = _suite["work"] / f"{name}.gait"
    subprocess.run(["env", *(f"{k}={v}" for k, v in env.items()), GAIT, "record", "-o", trace, "--", *argv],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return trace


def events_of(trace, *options):
    """Its instructions and references in the order of the trace: (thread, pc, what, address, size), what: exec, load, store, modify."""
    out = subprocess.run([GAIT, "dump", *options, trace], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines()[1:]:
        words = line.split()
        if words[2] in ("exec", "load", "store", "modify"):
            yield int(words[0]), int(words[1], 16), words[2], int(words[3], 16), int(words[4])


def analysis(*args):
    """What an analysis finds, all of it. The last line is the result: a program may have printed before it."""
    out = subprocess.run([GAIT, args[0], "--json", "--top", "1000000000", *args[1:]],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])


def live_and_stored(program, options, knobs):
    """What an analysis (its name and options) finds of a static program while it runs, and of its trace: the kernel places nothing at
    random, so the addresses are the same if the program asks it for nothing."""
    fixed = ["setarch", "-R", "env", "-i", f"GAIT_STRESS={knobs}"]
    trace = _suite["work"] / "stored.gait"
    subprocess.run([*fixed, GAIT, "record", "--watch=alloc", "-o", trace, "--", program], stdout=subprocess.PIPE, check=True)
    out = subprocess.run([*fixed, GAIT, options[0], "--json", "--top", "1000000000", *options[1:], "--", program],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1]), analysis(*options, trace)


def main():
    passed = failed = 0
    for function in CASES:
        if len(sys.argv) > 1 and not any(word in function.__name__ for word in sys.argv[1:]):
            continue
        try:
            function()
            passed += 1
        except (Failed, AssertionError, subprocess.CalledProcessError) as why:
            failed += 1
            print(f"not ok {function.__name__}: {why}\n  again with: tests/{_suite['name']}/run.py {function.__name__}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)
