#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait deps counts is what a plain model, which keeps the last writer of every single byte, counts on the same events.

    tests/deps/run.py [NAME]...     only the cases whose names contain one of these

Compared are all counts, the histogram, and for each two instructions how many dependences there are, how many across threads, their
mean distance and the least.
"""
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("deps")
FIXED = 0x400000  # where a program that is not to be moved is; its code is in the file where it is in memory, less that


# -- The plain model ----------------------------------------------------------------------------------------------------

class Model:
    """Dependences of one memory after the other: the last writer of each byte, as (time, pc, thread)."""

    def __init__(self):
        self.facts = Counter()
        self.pairs = defaultdict(list)  # (store's pc, load's pc) -> (distance, crosses) of each
        self.distances, self.crossing = Counter(), Counter()

    def run(self, events):
        time, writer = 0, {}
        for thread, pc, what, address, size in events:
            if what == "exec":
                time += 1
                continue
            area = range(address, address + size)
            if what != "store":
                self.load(time, thread, pc, {writer[a] for a in area if a in writer})
            if what != "load":
                self.facts["stores"] += 1
                writer.update(dict.fromkeys(area, (time, pc, thread)))
        self.facts["instructions"] += time
        return self

    def load(self, time, thread, pc, writers):
        self.facts["loads"] += 1
        self.facts["dependent"] += len(writers) > 0
        self.facts["several"] += len(writers) > 1
        self.facts["unwritten"] += not writers
        for when, store, who in writers:
            distance, crosses = time - when, who != thread
            self.facts["dependences"] += 1
            self.facts["cross"] += crosses
            self.pairs[store, pc].append((distance, crosses))
            self.distances[distance.bit_length()] += 1
            self.crossing[distance.bit_length()] += crosses

    def rows(self):
        """(count, cross, mean, least) of each pair."""
        return {pair: (len(d), sum(c for _, c in d), sum(n for n, _ in d) / len(d), min(n for n, _ in d))
                for pair, d in self.pairs.items()}


# -- gait ---------------------------------------------------------------------------------------------------------------

NAMES = ("instructions", "stores", "loads", "dependent", "several", "unwritten", "dependences", "cross")


def deps(*args):
    return analysis("deps", "--by", "instruction", *args)


def numbers(row):
    return row["count"], row["cross"], row["mean"], row["min"]


def compare(result, model, where, fixed=None):
    """`fixed`: the program, if its addresses are known: then it is compared which instructions a row is of."""
    for name in NAMES:
        require(result["total"][name] == model.facts[name], f"{where}: {name} {result['total'][name]}, plainly {model.facts[name]}")
    ours = {row["to"].bit_length(): (row["count"], row["cross"]) for row in result["distances"] if row["count"]}
    plain = {k: (n, model.crossing[k]) for k, n in model.distances.items()}
    require(ours == plain, f"{where}: distances {ours}, plainly {plain}")
    rows = model.rows()
    ours, plain = Counter(map(numbers, result["pairs"])), Counter(rows.values())
    require(ours == plain, f"{where}: pairs {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")
    if fixed:
        both = [row for row in result["pairs"] if row["store_module"] == row["load_module"] == str(fixed)]
        require(len(both) > 100, f"{where}: hardly any pairs of {fixed}")
        for row in both:
            pair = row["store_offset"] + FIXED, row["load_offset"] + FIXED
            require(rows.get(pair) == numbers(row), f"{where}: {pair} {numbers(row)}, plainly {rows.get(pair)}")


def compare_trace(trace, fixed=None):
    events = list(events_of(trace))
    require(len(events) > 1000, "hardly any events")
    model = Model().run(events)
    first = None
    for jobs in ("1", "2", "4", "8"):
        result = deps("-j", jobs, trace)
        if first is None:
            compare(result, model, f"{trace.name} -j {jobs}", fixed)
        first = first or result
        require(result == first, f"{trace.name}: -j {jobs} differs from -j 1")
    return model


# -- Cases --------------------------------------------------------------------------------------------------------------

def fixed_program(name, source):
    return build(name, HERE / source, "-static", "-no-pie")


@case
def an_ordinary_program():
    model = compare_trace(record("true", "/bin/true"))
    require(model.facts["unwritten"] and model.facts["several"], "the program is too plain")


@case
def stores_that_overlap_in_every_way():
    program = fixed_program("odd", "odd_stores.c")
    model = compare_trace(record("odd", program), program)
    require(model.distances[0] > 1000, "hardly any string reads what it has written itself")


@case
def small_buffers_and_hot_units():
    program = fixed_program("odd", "odd_stores.c")
    for knobs in ("hot,tinybuf", "single,tinybuf"):
        compare_trace(record("stressed", program, GAIT_STRESS=knobs), program)


@case
def references_that_fault_in_their_middle():
    compare_trace(record("gather", build("gather", ROOT / "tests/programs/gather_faults_in_the_middle.c")))
    compare_trace(record("faults", build("faults", HERE / "faults.c")))


@case
def threads_read_what_others_wrote():
    program = fixed_program("hand_over", "hand_over.c")
    for knobs in ("", "hot,tinybuf"):
        model = compare_trace(record("threads", program, GAIT_STRESS=knobs), program)
        require(model.facts["cross"] > 100, f"hardly any dependence across threads: {model.facts}")


@case
def processes_have_memories_of_their_own():
    # Rows sum up processes by file and offset, the model by pc: so all have the same files at the same addresses.
    trace = WORK / "fork.gait"
    subprocess.run(["setarch", "-R", GAIT, "record", "-o", trace, "--", "sh", "-c", "(echo a; echo b); echo c | (read x; echo $x)"],
                   stdout=subprocess.DEVNULL, check=True)
    model = Model()
    processes = 0
    while subprocess.run([GAIT, "dump", "--process", str(processes), "-n", "1", trace], capture_output=True).returncode == 0:
        model.run(events_of(trace, "--process", str(processes)))
        processes += 1
    require(processes >= 3, f"only {processes} processes")
    for jobs in ("1", "2", "8"):
        compare(deps("-j", jobs, trace), model, f"-j {jobs}")


@case
def live_is_as_stored():
    program = fixed_program("odd", "odd_stores.c")
    for knobs in ("", "tinybuf", "hot,tinybuf", "lazy,tinybuf"):
        for jobs in ("1", "2", "8"):
            live, stored = live_and_stored(program, ["deps", "--by", "instruction", "-j", jobs], knobs)
            require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def rows_of_functions_and_lines_are_sums():
    program = build("hand_over_g", HERE / "hand_over.c", "-g")
    trace = record("by", program)
    single = deps(trace)
    for by, place in (("function", ("function", "module")), ("line", ("file", "line", "function", "module"))):
        rows = analysis("deps", "--by", by, trace)["pairs"]
        keys = [tuple(row[f"{end}_{name}"] for end in ("store", "load") for name in place) for row in rows]
        require(len(set(keys)) == len(keys), f"--by {by}: a pair has two rows")
        for name in ("count", "cross"):
            require(sum(r[name] for r in rows) == single["total"]["dependences" if name == "count" else name], f"--by {by}: {name}")
        require([r["count"] for r in rows] == sorted((r["count"] for r in rows), reverse=True), f"--by {by}: not in order")
    lines = {(r["store_line"], r["load_line"]): r for r in rows if (r["store_file"] or "").endswith("hand_over.c")
             and r["store_function"] == r["load_function"] == "work"}
    line = 1 + next(i for i, text in enumerate((HERE / "hand_over.c").read_text().splitlines()) if "words[i] +=" in text)
    require(lines[line, line]["count"] >= 60 * 32 - 32, f"the loop's line reads what it wrote: {lines.get((line, line))}")
    crossing = analysis("deps", "--sort", "cross", trace)["pairs"]
    require([r["cross"] for r in crossing] == sorted((r["cross"] for r in crossing), reverse=True), "--sort cross: not in order")


@case
def values_that_cannot_be():
    for option, word in (("--by=page", "function, line, instruction"), ("--sort=mean", "count, cross")):
        run = subprocess.run([GAIT, "deps", option, "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"{option}: status {run.returncode}, {run.stderr}")


if __name__ == "__main__":
    main()
