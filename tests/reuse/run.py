#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait reuse and gait footprint count is what a plain LRU stack and plain sets, written here from their description alone, count on
the same events.

    tests/reuse/run.py [NAME]...     only the cases whose names contain one of these

Everything is compared: the histogram and the curve, all of them together and for each thread, and the counts of each instruction.
"""
import json
import subprocess
import sys
from bisect import bisect_left
from collections import Counter, defaultdict
from functools import lru_cache
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


@lru_cache(maxsize=2)
def read_events(trace, when):
    return list(events_of(trace))


def all_events(trace):
    """Read once: a trace is compared in several ways."""
    return read_events(trace, trace.stat().st_mtime_ns)


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
    events = all_events(trace)
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


def compare_threads(result, events, line=64):
    """Each thread has a stack of its own."""
    found = defaultdict(list)
    stacks = defaultdict(Stack)
    references = Counter()
    for thread, _, what, address, size in events:
        if what != "exec":
            references[thread] += 1
            found[thread] += [stacks[thread].touch(n) for n in lines_of(address, size, line)]
    ours = {r["thread"]: (r["references"], r["accesses"], r["lines"]) for r in result["threads"]}
    same("threads", ours, {t: (references[t], len(f), sum(d == COLD for d in f)) for t, f in found.items()})
    for t, f in found.items():
        compare_all(f"thread {t}", line, f, *([r for r in result[name] if r["thread"] == t] for name in ("thread_histograms", "thread_curves")))
    return len(found)


def same_with_all_jobs(*args):
    results = [analysis(args[0], "-j", jobs, *args[1:]) for jobs in ("1", "2", "4", "8")]
    require(all(r == results[0] for r in results), f"{' '.join(map(str, args))}: differs with -j")
    return results[0]


# -- Samples: what is written in src/analyze/distances.h ------------------------------------------------------------------

def chance(line):
    mask = (1 << 64) - 1
    line = line * 0x9e3779b97f4a7c15 & mask
    line ^= line >> 32
    line = line * 0xd6e8feb86659fd93 & mask
    return line ^ line >> 32


def is_sampled(line, log2):
    return chance(line) >> (64 - log2) == 0 if log2 else True


def sampled(accesses, log2, limit=None):
    """How many accesses, by estimated distance, and what one line stands for at last."""
    stack, found = Stack(), Counter()
    for line in accesses:
        if is_sampled(line, log2):
            d = stack.touch(line)
            found[d if d == COLD else d << log2] += 1 << log2
            while limit and len(stack.times) > limit:
                log2 += 1
                for dropped in [n for n in stack.last if not is_sampled(n, log2)]:
                    stack.drop(dropped)
    return found, log2


def compare_sample(where, result, accesses, log2, limit=None):
    found, log2 = sampled(accesses, log2, limit)
    total = result["total"]
    same(f"{where}: total", (total["accesses"], total["lines"], total.get("sample", 1)), (len(accesses), found[COLD], 1 << log2))
    for row in result["curve"]:
        same(f"{where}: misses of {row['lines']} lines", row["misses"],
             min(len(accesses), sum(n for d, n in found.items() if d >= row["lines"])))
    require(not log2 or result["curve"][0]["lines"] == 4 << log2, f"{where}: the curve's begin")
    return log2


def off(result, exact):
    """By how much the points of a curve are wrong, and by how much they say they may be."""
    points = {r["lines"]: r["miss_ratio"] for r in exact["curve"]}
    least = exact["curve"][-1]["miss_ratio"]
    return [(abs(r["miss_ratio"] - points.get(r["lines"], least)), r["error"]) for r in result["curve"]]


# -- Footprints -----------------------------------------------------------------------------------------------------------

def footprint(events, interval, sizes, of):
    """Of each interval, for each size: what was touched in it, for the first time, and so far."""
    insns = 0
    rows, ever = defaultdict(lambda: [set() for _ in sizes]), [set() for _ in sizes]
    for _, _, what, address, size in events:
        insns += what == "exec"
        for k, unit in enumerate(sizes):
            if is_wanted(what, of):
                rows[(insns - 1) // interval][k].update(lines_of(address, size, unit))
    found = []
    for i in range(-(-insns // interval)):
        row = [i * interval]
        for k in range(len(sizes)):
            before = len(ever[k])
            ever[k] |= rows[i][k]
            row += [len(rows[i][k]), len(ever[k]) - before, len(ever[k])]
        found.append(tuple(row))
    return found, insns


FOOTPRINT = ("from", "lines", "new_lines", "all_lines", "pages", "new_pages", "all_pages")


def compare_footprint(trace, *options, interval=None, line=64, page=4096, of="data"):
    events = all_events(trace)
    insns = sum(e[2] == "exec" for e in events)
    if interval:
        options += (f"--interval={interval}",)
    else:
        interval = 1024
        while insns > 200 * interval:
            interval *= 2
    result = analysis("footprint", f"--line={line}", f"--page={page}", f"--of={of}", *options, trace)
    plain, insns = footprint(events, interval, (line, page), of)
    where = f"footprint {trace.name} {of} {' '.join(options)}"
    ours = [tuple(r[n] for n in FOOTPRINT) for r in result["footprint"]]
    same(f"{where}: rows", len(ours), len(plain))
    for a, b in zip(ours, plain):
        same(where, a, b)
    total = result["total"]
    same(where, tuple(total[n] for n in ("instructions", "lines", "most_lines", "pages", "most_pages")),
         (insns, plain[-1][3], max(r[1] for r in plain), plain[-1][6], max(r[4] for r in plain)))
    return result


def walks():
    return build("walks", HERE / "walks.c")


# -- Cases: reuse ---------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    trace = record("true", "/bin/true")
    for line in (16, 64):
        compare(trace, line=line, beyond=(4096,))
    compare(trace, of="code")
    compare(trace, of="both")
    compare(trace, line=4096, beyond=(16384, 65536))


@case
def random_walks():
    for seed in range(3):
        compare(record(f"walks{seed}", walks(), str(seed), "25"))


@case
def times_that_are_used_up():
    """Lines are numbered anew, and tables grow."""
    result = compare(record("long", walks(), "77", "200"), line=16, beyond=(64,))
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


@case
def threads():
    trace = record("threads", walks(), "3", "25", "3")
    events = all_events(trace)
    compare(trace)
    result = same_with_all_jobs("reuse", "--threads", trace)
    require(compare_threads(result, events) == 4, "not four threads")


@case
def processes_have_stacks_of_their_own():
    """What all have touched is what each has, one by one."""
    trace = record("processes", walks(), "1", "5", "1", "2")
    result = same_with_all_jobs("reuse", "--threads", trace)
    found = []
    processes = {r["process"] for r in result["threads"]}
    for p in processes:
        found += [d for _, _, d in distances(events_of(trace, "--process", str(p)))]
    require(len(processes) == 3, f"not three but {processes}")
    compare_all("processes", 64, found, result["histogram"], result["curve"])


@case
def live_is_as_stored():
    program = build("walks_static", HERE / "walks.c", "-static", "-no-pie")
    for options in (["reuse", "--by", "instruction"], ["reuse", "--memory=1M"], ["reuse", "--of=both", "--sample=4"], ["footprint", "--of=both"]):
        for knobs in ("", "hot,tinybuf"):
            for jobs in ("1", "2", "8"):
                live, stored = live_and_stored(program, [*options, "-j", jobs], knobs)
                require(live == stored, f"{options} GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def a_sample_is_what_it_says():
    trace = record("sample", walks(), "8", "60")
    accesses = [n for _, _, what, address, size in all_events(trace) if what != "exec" for n in lines_of(address, size, 64)]
    for log2 in (1, 3):
        compare_sample(f"1 of {1 << log2}", same_with_all_jobs("reuse", f"--sample={1 << log2}", trace), accesses, log2)


@case
def a_bounded_memory_is_enough():
    trace = record("bounded", walks(), "9", "100", GAIT_STRESS="tinybuf")
    accesses = [n for _, _, what, address, size in all_events(trace) if what != "exec" for n in lines_of(address, size, 16)]
    result = same_with_all_jobs("reuse", "--line=16", "--beyond=1K", "--memory=1M", trace)
    log2 = compare_sample("1 MB", result, accesses, 0, 8192)
    require(log2 > 0, "all lines fit")
    plain = reuse("--line=64", trace)
    all_fit = reuse("--line=64", "--memory=64M", trace)
    require(plain == all_fit, "a memory that is large enough: not exact")


@case
def errors_are_as_large_as_said():
    """Of the points of all curves, at most one in three is off by more than the standard error, give or take; hardly any by four times that."""
    found = []
    for seed in range(40):  # the points of a curve are wrong together: it takes many curves
        trace = record("error", walks(), str(20 + seed), "120")
        exact = reuse(trace)
        found += off(reuse("--sample=8", trace), exact) + off(reuse("--sample=32", trace), exact)
    wrong = [e for e in found if e[0] > e[1] + 0.01]
    far = [e for e in found if e[0] > 4 * e[1] + 0.01]
    require(len(found) > 100 and len(wrong) < 0.45 * len(found), f"{len(wrong)} of {len(found)} are off by more than the error")
    require(len(far) < 0.03 * len(found), f"{len(far)} of {len(found)} are off by more than four times the error: {far}")


@case
def options_that_cannot_be():
    for options, word in ((["--line=48"], "power of two"), (["--line=8"], "power of two"), (["--of=x"], "data"), (["--sample=3"], "power of two"),
                          (["--memory=10K"], "at least"), (["--memory=1M", "--threads"], "--threads"), (["--beyond=64"], "lines"),
                          (["--beyond=4K,1K"], "go up"), (["--beyond=4K;"], "commas"), (["--beyond="], "sizes"), (["--by=x"], "function")):
        run = subprocess.run([GAIT, "reuse", *options, "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")
    for option, word in (("--page=3", "power of two"), ("--interval=0", "number"), ("--interval=x", "number")):
        run = subprocess.run([GAIT, "footprint", option, "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"{option}: status {run.returncode}, {run.stderr}")


@case
def both_in_one_pass():
    trace = record("both", walks(), "4", "20")
    both = subprocess.run([GAIT, "analyze", "-a", "reuse,footprint,cache", "--json", trace], capture_output=True, text=True, check=True).stdout
    for name in ("reuse", "footprint"):
        alone = subprocess.run([GAIT, name, "--json", trace], capture_output=True, text=True, check=True).stdout
        for table in json.loads(alone):
            same(f"{name} {table}", json.loads(both)[f"{name}.{table}"], json.loads(alone)[table])


# -- Cases: footprint -----------------------------------------------------------------------------------------------------

@case
def footprint_of_an_ordinary_program():
    trace = record("true", "/bin/true")
    compare_footprint(trace)
    compare_footprint(trace, interval=1, page=1024)
    compare_footprint(trace, interval=777, line=16, of="both")
    compare_footprint(trace, of="code", interval=5000)


@case
def footprint_with_intervals_that_are_joined():
    result = compare_footprint(record("joined", walks(), "6", "150"))
    require(len(result["footprint"]) > 90 and result["processes"][0]["interval"] >= 4096, "nothing was joined")
    trace = record("joined_stressed", walks(), "6", "50", "2", GAIT_STRESS="hot,tinybuf")
    compare_footprint(trace, of="both")
    same_with_all_jobs("footprint", "--of=both", trace)


@case
def footprint_of_references_of_all_sizes():
    compare_footprint(record("odd", build("odd", ROOT / "tests/cache/odd_references.c")), line=16, page=128)
    compare_footprint(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c")), interval=10)


if __name__ == "__main__":
    main()
