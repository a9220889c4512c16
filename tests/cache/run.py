#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait cache counts is what a plain simulator, written here from its description alone, counts on the same events.

    tests/cache/run.py [NAME]...     only the cases whose names contain one of these

Counts are compared in all, and for each instruction. Shapes are odd on purpose: one way, sets that are no power of two, lines of
different lengths, 8 ways (which gait has code of its own for), caches so small that everything misses.
"""
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402

use("cache")
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
    for _, pc, event, address, size in events:
        n = counts[pc]
        total, first, last = {"exec": NAMES[:3], "load": NAMES[3:6], "modify": NAMES[3:6], "store": NAMES[6:]}[event]
        n[total] += 1
        if not (i1 if event == "exec" else d1).hits(address, size):
            n[first] += 1
            n[last] += not ll.hits(address, size)
    return counts


# -- gait ---------------------------------------------------------------------------------------------------------------

def options_of(shape):
    return [f"--{name}={size},{ways},{line}" for name, (size, ways, line) in zip(("I1", "D1", "LL"), shape)]


def cache(*args):
    return analysis("cache", "--by", "instruction", *args)


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
    program = build("odd_static", HERE / "odd_references.c", "-static", "-no-pie")
    for knobs in ("", "tinybuf", "hot,tinybuf", "lazy,tinybuf"):
        for jobs in ("1", "2", "8"):
            live, stored = live_and_stored(program, ["cache", "--by", "instruction", "-j", jobs, *options_of(SHAPES[2])], knobs)
            require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def status_and_output_pass_through():
    run = subprocess.run([GAIT, "cache", "--", "sh", "-c", "echo said; exit 3"], capture_output=True, text=True)
    require(run.returncode == 3 and run.stdout.startswith("said\n"), f"status {run.returncode}, {run.stdout[:40]!r}")


@case
def shapes_that_cannot_be():
    for given, word in (("100,8,64", "multiple"), ("32768,0,64", "ways"), ("32768,8,48", "power of two"), ("x", "SIZE,WAYS,LINE")):
        run = subprocess.run([GAIT, "cache", f"--D1={given}", "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"--D1={given}: status {run.returncode}, {run.stderr}")


if __name__ == "__main__":
    main()
