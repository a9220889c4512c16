#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait reuse and gait footprint count is what a plain LRU stack and plain sets, written here from their description alone, count on
the same events.

    tests/reuse/run.py [NAME]...     only the cases whose names contain one of these

Everything is compared: the histogram and the curve, all of them together and for each thread, and the counts of each instruction.
"""
import subprocess
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402

use("reuse")
COLD = float("inf")


# -- The plain stack ------------------------------------------------------------------------------------------------------

class Stack:
    """Of each line when it was touched last, and these times in order: a line is as deep as there are later ones."""

    def __init__(self):
        self.last, self.times, self.now = {}, [], 0

    def touch(self, line):
        depth = COLD
        if line in self.last:
            at = bisect_left(self.times, self.last[line])
            depth = len(self.times) - 1 - at
            del self.times[at]
        self.now += 1
        self.last[line] = self.now
        self.times.append(self.now)
        return depth

    def drop(self, line):
        del self.times[bisect_left(self.times, self.last.pop(line))]


def lines_of(address, size, line):
    return range(address // line, (address + size - 1) // line + 1)


def is_wanted(what, of):
    return of == "both" or (what == "exec") == (of == "code")


def distances(events, line=64, of="data"):
    """(thread, pc, distance) of each access to a line."""
    stack = Stack()
    for thread, pc, what, address, size in events:
        if is_wanted(what, of):
            for n in lines_of(address, size, line):
                yield thread, pc, stack.touch(n)


def octave(d):
    return 0 if d == 0 else 1 << (d.bit_length() - 1)


def histogram(found):
    n = Counter(octave(d) for d in found if d != COLD)
    return [(d, 2 * d - 1 if d else 0, n[d]) for d in sorted(set(n) | {0})]


def misses(found, lines):
    return sum(d >= lines for d in found)


# -- Comparing ------------------------------------------------------------------------------------------------------------

def reuse(*args):
    return analysis("reuse", *args)


def same(where, ours, plain):
    require(ours == plain, f"{where}: {ours}, plainly {plain}")


def compare_all(where, line, found, histogram_rows, curve_rows):
    rows = [(r["from"], r["to"], r["accesses"]) for r in histogram_rows]
    same(f"{where}: histogram", [r for r in rows if r[2] or not r[0]], histogram(found))
    require(all(abs(r["share"] - 100 * r["accesses"] / len(found)) < 1e-9 for r in histogram_rows), f"{where}: shares")
    for row in curve_rows:
        same(f"{where}: misses of {row['lines']} lines", row["misses"], misses(found, row["lines"]))
        require(row["size"] == row["lines"] * line, f"{where}: sizes")
        require(abs(row["miss_ratio"] - 100 * row["misses"] / len(found)) < 1e-9, f"{where}: ratios")
    cold = sum(d == COLD for d in found)
    same(f"{where}: the curve's end", curve_rows[-1]["misses"], cold)
    require(curve_rows[0]["lines"] == 1 and len(curve_rows) > 4, f"{where}: the curve's begin")


def compare(trace, *options, line=64, of="data", beyond=(512, 4096, 1 << 20)):
    """Whole and by instruction; the events are of one process."""
    events = list(events_of(trace))
    plain = list(distances(events, line, of))
    found = [d for _, _, d in plain]
    require(len(found) > 1000, "hardly any events")
    where = f"{trace.name} {line} {of} {' '.join(options)}"
    result = reuse("--by", "instruction", f"--line={line}", f"--of={of}", "--beyond", ",".join(map(str, beyond)), *options, trace)
    total = result["total"]
    finite = [d for d in found if d != COLD]
    same(where, (total["references"], total["accesses"], total["lines"]),
         (sum(is_wanted(e[2], of) for e in events), len(found), len(found) - len(finite)))
    require(abs(total["mean"] - sum(finite) / len(finite)) < 1e-6, f"{where}: mean {total['mean']}")
    compare_all(where, line, found, result["histogram"], result["curve"])
    counts = defaultdict(lambda: [0] * (2 + len(beyond)))
    for _, pc, d in plain:
        n = counts[pc]
        n[0] += 1
        n[1] += d == COLD
        for k, size in enumerate(beyond):
            n[2 + k] += d * line >= size
    ours = Counter(tuple(r[c] for c in ("accesses", "cold", *(f"beyond_{b}" for b in beyond))) for r in result["rows"])
    wanted = Counter(map(tuple, counts.values()))
    require(ours == wanted, f"{where}: of single instructions {list((ours - wanted).items())[:3]}, plainly {list((wanted - ours).items())[:3]}")
    return result


def walks():
    return build("walks", HERE / "walks.c")


# -- Cases: reuse ---------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    trace = record("true", "/bin/true")
    for line in (16, 64, 256):
        compare(trace, line=line, beyond=(4096,))
    compare(trace, of="code")
    compare(trace, of="both")
    compare(trace, line=4096, beyond=(16384, 65536))


@case
def random_walks():
    for seed in range(4):
        compare(record(f"walks{seed}", walks(), str(seed), "30"))


@case
def times_that_are_used_up():
    """Lines are numbered anew, and tables grow."""
    result = compare(record("long", walks(), "77", "300"), line=16, beyond=(64,))
    require(result["total"]["lines"] > 10000, f"only {result['total']['lines']} lines")


@case
def references_of_all_sizes_across_lines():
    trace = record("odd", build("odd", ROOT / "tests/cache/odd_references.c"))
    compare(trace, line=16, beyond=(100, 101, 5000))
    compare(trace, of="both")


@case
def a_reference_that_faults_in_its_middle():
    compare(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c")))


@case
def small_buffers_and_hot_units():
    trace = record("stressed", walks(), "5", "40", GAIT_STRESS="hot,tinybuf")
    compare(trace)
    compare(trace, of="both")


if __name__ == "__main__":
    main()
