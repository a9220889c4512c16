#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait cache counts is what a plain simulator, written here from its description alone, counts on the same events.

    tests/cache/run.py [NAME]...     only the cases whose names contain one of these

Counts are compared in all, and for each instruction. Shapes are odd on purpose: one way, sets that are no power of two, lines of
different lengths, 8 ways (which gait has code of its own for), caches so small that everything misses.
"""
import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GAIT = ROOT / "build/gait"
WORK = ROOT / "build/cache"
CASES = []
ALL_ROWS = ("--json", "--by", "instruction", "--top", "1000000000")
NAMES = ("Ir", "I1mr", "ILmr", "Dr", "D1mr", "DLmr", "Dw", "D1mw", "DLmw")
# I1, D1, LL: size, ways, line.
SHAPES = [
    ((32768, 8, 64), (32768, 8, 64), (262144, 16, 64)),
    ((1024, 1, 32), (2048, 1, 64), (16384, 4, 128)),
    ((3 * 2 * 64, 2, 64), (5 * 3 * 32, 3, 32), (7 * 8 * 64, 8, 64)),
    ((512, 8, 64), (512, 8, 64), (1024, 16, 64)),
    ((4096, 8, 32), (8192, 8, 128), (12 * 32 * 64, 12, 32)),
    ((49152, 12, 64), (16384, 4, 16), (196608, 3, 64)),
]


class Failed(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def require(holds, why):
    if not holds:
        raise Failed(why)


# -- The plain simulator ------------------------------------------------------------------------------------------------

class Cache:
    """The lines of each set, the one used last at the end."""

    def __init__(self, size, ways, line):
        self.ways, self.line = ways, line
        self.sets = [[] for _ in range(size // ways // line)]

    def touch(self, line):
        lines = self.sets[line % len(self.sets)]
        hit = line in lines
        if hit:
            lines.remove(line)
        lines.append(line)
        del lines[:-self.ways]
        return hit

    def hits(self, address, size):
        """A reference hits if all its lines do."""
        return all([self.touch(n) for n in range(address // self.line, (address + size - 1) // self.line + 1)])


def simulate(events, shape):
    i1, d1, ll = (Cache(*s) for s in shape)
    counts = defaultdict(lambda: dict.fromkeys(NAMES, 0))
    for pc, event, address, size in events:
        n = counts[pc]
        total, first, last = {"exec": NAMES[:3], "load": NAMES[3:6], "modify": NAMES[3:6], "store": NAMES[6:]}[event]
        n[total] += 1
        if not (i1 if event == "exec" else d1).hits(address, size):
            n[first] += 1
            n[last] += not ll.hits(address, size)
    return counts


# -- gait ---------------------------------------------------------------------------------------------------------------

def build(name, source, *options):
    program = WORK / name
    subprocess.run(["gcc", "-O2", "-w", "-pthread", *options, "-o", program, source, "-lm"], check=True)
    return program


def record(name, *argv, **env):
    trace = WORK / f"{name}.gait"
    subprocess.run(["env", *(f"{k}={v}" for k, v in env.items()), GAIT, "record", "-o", trace, "--", *argv],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True)
    return trace


def events_of(trace):
    out = subprocess.run([GAIT, "dump", trace], capture_output=True, text=True, check=True).stdout
    for line in out.splitlines()[1:]:
        words = line.split()
        if words[2] in ("exec", "load", "store", "modify"):
            yield int(words[1], 16), words[2], int(words[3], 16), int(words[4])


def options_of(shape):
    return [f"--{name}={size},{ways},{line}" for name, (size, ways, line) in zip(("I1", "D1", "LL"), shape)]


def cache(*args):
    """The last line is the result: a program may have printed before it."""
    out = subprocess.run([GAIT, "cache", *ALL_ROWS, *args],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return json.loads(out.splitlines()[-1])


def numbers(row):
    return tuple(row[name] for name in NAMES)


def compare(result, counts, where):
    total = tuple(sum(n[name] for n in counts.values()) for name in NAMES)
    require(numbers(result["total"]) == total, f"{where}: in all {numbers(result['total'])}, plainly {total}")
    ours, plain = Counter(map(numbers, result["rows"])), Counter(map(numbers, counts.values()))
    require(ours == plain, f"{where}: of single instructions {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")


def compare_trace(trace):
    events = list(events_of(trace))
    require(len(events) > 1000, "hardly any events")
    for shape in SHAPES:
        compare(cache(*options_of(shape), trace), simulate(events, shape), f"{trace.name} {shape}")


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    compare_trace(record("true", "/bin/true"))


@case
def references_of_all_sizes_across_lines():
    compare_trace(record("odd", build("odd", HERE / "odd_references.c")))


@case
def a_reference_that_faults_in_its_middle():
    compare_trace(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c")))


@case
def small_buffers_and_hot_units():
    compare_trace(record("stressed", build("odd", HERE / "odd_references.c"), GAIT_STRESS="hot,tinybuf"))


@case
def live_is_as_stored():
    """The same addresses in both runs: the kernel places nothing at random, and the program asks it for nothing."""
    program = build("odd_static", HERE / "odd_references.c", "-static", "-no-pie")
    for knobs in ("", "tinybuf", "hot,tinybuf", "lazy,tinybuf"):
        fixed = ["setarch", "-R", "env", "-i", f"GAIT_STRESS={knobs}"]
        trace = WORK / "stored.gait"
        subprocess.run([*fixed, GAIT, "record", "-o", trace, "--", program], stdout=subprocess.PIPE, check=True)
        out = subprocess.run([*fixed, GAIT, "cache", *ALL_ROWS, *options_of(SHAPES[2]), "--", program],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        live, stored = json.loads(out.splitlines()[-1]), cache(*options_of(SHAPES[2]), trace)
        require(live == stored, f"GAIT_STRESS={knobs}: live {live['total']}, stored {stored['total']}")


@case
def status_and_output_pass_through():
    run = subprocess.run([GAIT, "cache", "--", "sh", "-c", "echo said; exit 3"], capture_output=True, text=True)
    require(run.returncode == 3 and run.stdout.startswith("said\n"), f"status {run.returncode}, {run.stdout[:40]!r}")


@case
def shapes_that_cannot_be():
    for given, word in (("100,8,64", "multiple"), ("32768,0,64", "ways"), ("32768,8,48", "power of two"), ("x", "SIZE,WAYS,LINE")):
        run = subprocess.run([GAIT, "cache", f"--D1={given}", "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"--D1={given}: status {run.returncode}, {run.stderr}")


def main():
    WORK.mkdir(parents=True, exist_ok=True)
    passed = failed = 0
    for function in CASES:
        if len(sys.argv) > 1 and not any(word in function.__name__ for word in sys.argv[1:]):
            continue
        try:
            function()
            passed += 1
        except (Failed, AssertionError, subprocess.CalledProcessError) as why:
            failed += 1
            print(f"not ok {function.__name__}: {why}\n  again with: tests/cache/run.py {function.__name__}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
