#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait cache --why says of misses, lines and evictors is what a plain account (Why in tests/cache/model.py) says of the same events.

    tests/why/run.py [NAME]...     only the cases whose names contain one of these
"""
import math
import random
import re
import subprocess
import sys
from collections import Counter, defaultdict
from functools import lru_cache
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "cache")]
from cases import GAIT, analysis, build, case, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("why")
from compare import Model, compare_text, describe_any, events, refused, walk  # noqa: E402

KINDS = ("hits", "misses", "cold", "capacity", "conflict", "taken", "evictions")


def counts_of(row, line):
    """Of a point or variable; where the man page has shares, what they are shares of makes counts of them."""
    temporal, used = (row["temporal"] or 0) * row["hits"] / 100, (row["use"] or 0) * row["evictions"] * line / 100
    require(abs(temporal - round(temporal)) < 1e-3 and abs(used - round(used)) < 1e-3, f"{row} has no whole numbers")
    total = row["hits"] + row["misses"]
    require(not total and row["miss_ratio"] is None or abs(row["miss_ratio"] - 100 * row["misses"] / total) < 1e-6, f"the ratio of {row}")
    return *(row[name] for name in KINDS), round(temporal), round(used)


def plain_counts(n):
    return *(n[name] for name in KINDS), n["temporal"], n["used"]


def require_sums(result, where):
    """What points and variables have, and what evictors do, is all there is."""
    total = result["why"]
    for table in ("points", "variables"):
        for name in KINDS:
            ours = sum(row[name] for row in result[table])
            require(ours == total[name], f"{where}: {name} of {table} are {ours}, in all {total[name]}")
    for table, of in (("evictors", "points"), ("variable_evictors", "variables")):
        ours = sum(row["count"] for row in result[table])
        require(ours == total["evictions"], f"{where}: {table} have evicted {ours} lines, in all {total['evictions']}")
        ours = Counter()
        for row in result[table]:
            ours[tuple(value for name, value in row.items() if name in ("kind", "variable", "file", "line", "offset", "function", "module"))] += row["count"]
            require(0 < row["share"] <= 100 + 1e-9, f"{where}: {row}")
        plain = Counter({tuple(row[name] for name in ("kind", "variable", "file", "line", "offset", "function", "module") if name in row): row["evictions"]
                         for row in result[of] if row["evictions"]})
        require(ours == plain, f"{where}: {table} do not sum up to the evictions of {of}")
    require(total["misses"] == sum(total[name] for name in ("cold", "capacity", "conflict", "taken")), f"{where}: kinds of misses are not all")
    require(total["touches"] == total["hits"] + total["misses"], f"{where}: {total}")


def compare_why(result, why, where):
    """A point is told from others by what it has counted; who evicts whom, by both."""
    line = why.shape["line"]
    require_sums(result, where)
    identity = {row_key(row): (row["kind"], counts_of(row, line)) for row in result["points"]}
    ours, plain = Counter(identity.values()), Counter((point[1], plain_counts(n)) for point, n in why.points.items())
    require(ours == plain, f"{where}: points {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")
    nothing = tuple([0] * (len(KINDS) + 2))
    ours, plain = Counter(), Counter()
    for row in result["evictors"]:
        by = {name[3:]: value for name, value in row.items() if name.startswith("by_")}
        ours[identity[row_key(row)], identity.get(row_key(by), (by["kind"], nothing)), row["count"]] += 1
    for (old, by), n in why.evictors.items():
        plain[(old[1], plain_counts(why.points[old])), (by[1], plain_counts(why.points.get(by, Counter()))), n] += 1
    require(ours == plain, f"{where}: evictors {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")


def row_key(row):
    return tuple(row[name] for name in ("kind", "variable", "offset", "function", "module"))


def objects_of(program):
    """Symbols of data: (start, end, name). Memory that threads have for their stacks is called after the functions that keep something there."""
    words = (line.split() for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines())
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3]) for w in words if len(w) == 4 and w[2] in "bBdDrR" and w[3] != "stacks"]


def compare_variables(result, why, program, where):
    """Those that have symbols, by these; all others together."""
    objects = objects_of(program)
    names = {name for _, _, name in objects}

    @lru_cache(maxsize=None)
    def name_of(address):
        return next((name for start, end, name in objects if start <= address < end), None)

    ours = Counter((row["kind"], counts_of(row, why.shape["line"]), row["variable"] if row["variable"] in names | {"several"} else None) for row in result["points"])
    plain = Counter()
    for point, n in why.points.items():
        data = {name_of(address) for address in why.touched[point]}
        plain[point[1], plain_counts(n), data.pop() if len(data) == 1 else "several"] += 1
    more = Counter({key: n for key, n in (ours - plain).items() if key[2] == "several"})  # what has no symbol may have several names too
    require(+Counter({(*key[:2], None): n for key, n in more.items()}) == plain - ours and more == ours - plain,
            f"{where}: points' data {list((ours - plain).items())[:4]}, plainly {list((plain - ours).items())[:4]}")
    ours, plain = Counter(), Counter()
    for row in result["variables"]:
        for what, n in zip((*KINDS, "temporal", "used"), counts_of(row, why.shape["line"])):
            ours[row["variable"] if row["variable"] in names else None, what] += n
    for address, counts in why.bytes.items():
        for what, n in counts.items():
            plain[name_of(address), what] += n
    require(+ours == +plain, f"{where}: variables {list((ours - plain).items())[:4]}, plainly {list((plain - ours).items())[:4]}")
    ours, plain = Counter(), Counter()
    for row in result["variable_evictors"]:
        ours[tuple(row[x] if row[x] in names else None for x in ("variable", "by_variable"))] += row["count"]
    for (old, by), n in why.byte_evictors.items():
        plain[name_of(old), name_of(by)] += n
    require(ours == plain, f"{where}: variables evict {list((ours - plain).items())[:4]}, plainly {list((plain - ours).items())[:4]}")


def compare_both(trace, text, why, program=None):
    """All that gait says; the plain account."""
    result, model = compare_text(trace, text, why=why)
    where = f"{trace.name}, {text.strip()!r}, why {why}"
    compare_why(result, model.why, where)
    if program:
        compare_variables(result, model.why, program, where)
    return model.why


# -- Cases ----------------------------------------------------------------------------------------------------------------

def walk_program(threads=0):
    walk(threads)
    return WORK / f"walk{threads}"


@case
def why_each_level_misses():
    plain = "L1I size=1K ways=2 line=32 write=ignore\nL1D size=2K ways=4 line=64 write=ignore\nL2 size=8K ways=4 line=128 write=ignore\nL3 size=12K ways=3 line=16 write=ignore"
    for name in ("L1I", "L1D", "L2", "L3"):
        compare_both(walk(), plain, name, walk_program())
    rich = "cores 3\nL1I size=1K ways=2 private\nL1D size=2K ways=8 private {}\nL2 size=4K ways=2 private {}\nL3 size=16K ways=8 inclusive"
    for first, second in (("prefetch=stride", ""), ("write=through allocate=no", "inclusive"), ("policy=rrip", "prefetch=next")):
        for name in ("L1D", "L2", "L3"):
            compare_both(walk(20), rich.format(first, second), name, walk_program(20))
    compare_both(walk(), "L1 size=4K ways=2 prefetch=next\nL2 size=8K ways=2 exclusive", "L1", walk_program())


@case
def why_any_hierarchy_misses():
    pick = random.Random(11)
    for i in range(20):
        text, _ = describe_any(pick)
        names = [line.split()[0] for line in text.splitlines()[1:] if "exclusive" not in line]
        why = compare_both(walk(20) if i % 2 else walk(), text, pick.choice(names), walk_program(20 if i % 2 else 0))
        require(why.points, f"{text}: nothing is asked for")


@case
def every_kind_of_miss_is_met():
    text = "cores 2\nL1I size=1K ways=2 private\nL1D size=1K ways=1 private\nL2 size=32K ways=8"
    why = compare_both(walk(20), text, "L1D")
    for kind in ("cold", "capacity", "conflict", "taken"):
        require(sum(n[kind] for n in why.points.values()) > 5, f"hardly any misses are {kind}")


def small(source, *macros):
    """A program without a library, and its trace."""
    name = source + "".join(macros).replace("=", "")
    program = build(name, HERE / f"{source}.c", "-O1", "-g", "-nostdlib", "-static", "-fno-stack-protector", *(f"-D{x}" for x in macros))
    return program, record(name, program)


def multiply(n=40, *macros):
    return small("multiply", f"N={n}", *macros)


@case
def the_matrix_that_is_walked_by_columns():
    """As the model says, and as everybody knows: b misses, and evicts itself."""
    program, trace = multiply()
    text = "L1I size=1K ways=2\nL1D size=1K ways=2\nL2 size=8K ways=4"
    for level in ("L1D", "L2"):
        compare_both(trace, text, level, program)
    for n, (_, trace) in ((40, (program, trace)), (96, multiply(96))):
        result = analysis("cache", "--config", WORK / "caches.txt", "--why", trace)  # by lines
        require_columns(result, n)


def require_columns(result, n):
    source = (HERE / "multiply.c").read_text().splitlines()
    worst, evictor = result["points"][0], result["evictors"][0]
    for row, prefix in ((worst, ""), (evictor, ""), (evictor, "by_")):
        require((row[prefix + "kind"], row[prefix + "variable"], row[prefix + "function"]) == ("read", "b", "multiply"), f"{row}")
        require("b[k][j]" in source[row[prefix + "line"] - 1], f"{row} is not where b is read")
    require(worst["misses"] == n ** 3 and worst["hits"] == 0 and abs(worst["use"] - 12.5) < 1e-9, f"each b[k][j] misses, for 8 bytes of 64: {worst}")
    require(result["variables"][0]["variable"] == "b" and result["variable_evictors"][0]["by_variable"] == "b", "b is not the worst variable")
    require_sums(result, "multiply")
    require(result["why"]["misses"] == result["total"]["D1mr"] + result["total"]["D1mw"], "no reference has two lines here, so as many miss")


class Told:
    """Where blocks and locals are, as the program tells, and what they are called."""

    def __init__(self, lines):
        (mark, self.again), *entries = (line.split() for line in lines)
        self.mark = int(mark, 16)
        self.entries = [(int(start, 16), int(size), number) for start, size, number in entries]
        sites = Counter(number for _, _, number in self.entries)
        self.names = {"-1": "fill::x", "-2": "fill::y"} | {number: f"heap block{'s' if sites[number] > 1 else ''} of {size} bytes from main at heap.c:{number}" for _, size, number in self.entries if size and number[0] != "-"}
        self.next, self.now = 0, {}

    def events(self, trace):
        """Those of the trace; what is told of is so from there on."""
        for event in events(trace):
            yield event
            if event[2:4] in (("store", self.mark), ("modify", self.mark)):
                start, size, number = self.entries[self.next]
                self.next += 1
                self.now[start] = start + size, self.names.get(number)

    def name(self, address):
        return next((name for start, (end, name) in self.now.items() if start <= address < end), None)


def allocated():
    """A program with heap blocks, its trace, and what it tells of them."""
    program = build("heap", HERE / "heap.c", "-O1", "-g", "-no-pie")
    out = subprocess.run(["setarch", "-R", "env", "-i", GAIT, "record", "--watch=alloc", "-o", WORK / "heap.gait", "--", program], stdout=subprocess.PIPE, text=True, check=True).stdout
    return program, WORK / "heap.gait", out.splitlines()


@case
def blocks_are_told_apart():
    """By where they were allocated, though another had the same bytes before."""
    text = "L1I size=1K ways=2\nL1D size=1K ways=2 {}\nL2 size=8K ways=4"
    path = WORK / "heap.txt"
    _, trace, lines = allocated()
    for more in ("", "prefetch=next"):
        told = Told(lines)
        require(told.again == "1", "the second block is not where the first was")
        path.write_text(text.format(more))
        result, other = (analysis("cache", "--config", path, "--why", "-j", jobs, trace) for jobs in ("1", "4"))
        require(result == other, "the number of threads matters")
        require_sums(result, "heap")
        model = Model(text.format(more), False, "L1D")
        origin = model.why.origin
        model.why.origin = lambda a, tag: told.name(origin(a, tag))  # what is counted by address is counted by name
        why, blocks = model.run(told.events(trace)).why, set(told.names.values())
        require(len(blocks) == 8, f"{blocks}")
        ours = {row["variable"]: counts_of(row, 64) for row in result["variables"] if row["variable"] in blocks}
        plain = {name: plain_counts(n) for name, n in why.bytes.items() if name}
        require(ours == plain, f"variables {ours}, plainly {plain}")
        ours, plain = Counter(), Counter()
        for row in result["variable_evictors"]:
            ours[tuple(row[x] if row[x] in blocks else None for x in ("variable", "by_variable"))] += row["count"]
        for pair, n in why.byte_evictors.items():
            plain[pair] += n
        require(ours == plain, f"variables evict {list((ours - plain).items())[:4]}, plainly {list((plain - ours).items())[:4]}")
        worst = max((row for row in result["points"] if row["function"] == "multiply"), key=lambda row: row["misses"])
        require("b[i] = malloc" in (HERE / "heap.c").read_text().splitlines()[int(worst["variable"].split(":")[-1]) - 1], f"{worst} is not of the rows of b")


def advice(trace, d1, remedy, variable):
    """The row of an advice, if there is one, and the misses of the variable."""
    result = analysis("cache", f"--D1={d1}", "--LL=65536,16,64", "--why", trace)
    require_sums(result, trace.name)
    misses = next(row["misses"] for row in result["variables"] if row["variable"] == variable)
    return next((row for row in result["advice"] if row["remedy"] == remedy and row["variable"] == variable), None), misses


def require_help(before, after, d1, remedy, variable, less):
    """It is advised, done, and there are so many times less misses; and it is not advised again."""
    row, misses = advice(before, d1, remedy, variable)
    require(row and 0 < row["misses"] <= misses, f"{remedy} is not advised for {variable}")
    again, fewer = advice(after, d1, remedy, variable)
    require(fewer * less < misses, f"{remedy}: {variable} had {misses} misses, and has {fewer}")
    require(not again or remedy == "tile loops", f"{remedy} is advised again: {again}")
    return row


@case
def what_is_advised_helps():
    plain = multiply(100)[1]
    require_help(plain, multiply(100, "INTERCHANGED")[1], "4096,4,64", "interchange loops", "b", 6)
    row = advice(plain, "4096,4,64", "tile loops", "b")[0]
    tile = int(row["because"].split("tiles of ")[1].split()[0])
    require(tile * tile * 8 * 3 <= 4096 and tile % 8 == 0 and "of 3 arrays" in row["because"], f"{row['because']}")
    require_help(plain, multiply(100, f"TILE={tile}")[1], "4096,4,64", "tile loops", "b", 6)
    row = require_help(multiply(64)[1], multiply(64, "PAD=8")[1], "8192,8,64", "make rows longer", "b", 6)
    require("steps of 512 bytes meet 2 of 16 sets; steps of 576 bytes, 16" in row["because"], f"{row['because']}")
    require(not advice(multiply(64)[1], "8192,8,64", "interchange loops", "b")[0], "most of these misses are conflicts")
    walks = small("walks")[1]
    require_help(walks, small("walks", "SPLIT")[1], "4096,4,64", "split hot and cold fields", "records[..].hot", 6)
    for name in ("left.v", "right.v"):
        require_help(walks, small("walks", "GAP=256")[1], "4096,1,64", "move data apart", name, 6)


@case
def most_steps_are_found():
    row = advice(small("walks")[1], "4096,4,64", "interchange loops", "uneven")[0]
    require(row and row["because"].startswith("steps of 128 bytes;") and "in steps of 16 bytes, 1 touch in 4" in row["because"], f"{row}")


@case
def nothing_is_advised_without_need():
    """A matrix that fits: its misses are cold."""
    result = analysis("cache", "--D1=65536,16,64", "--why", multiply(40)[1])
    others = [row for row in result["advice"] if row["remedy"] != "prefetch"]
    require(not others and result["why"]["misses"] == result["why"]["cold"], f"{others[:1]}")


class Walks:
    """Of each point of a model: its touches, when they were, and where the lines came from that missed."""

    def __init__(self, model, trace):
        self.model, self.clock, self.touches, self.found = model, Counter(), defaultdict(list), defaultdict(Counter)
        use = model.why.use
        watched = next(i for i, s in enumerate(model.paths["D"]) if s is model.why.shape)

        def use_and_note(a):
            use(a)
            self.touches[a.point].append((a.address, self.thread, self.clock[self.thread]))
            if watched in a.missed:
                self.found[a.point][next(i for i in range(watched + 1, model.levels + 1) if i not in a.missed)] += 1

        model.why.use = use_and_note
        model.run(self.timed(trace))

    def timed(self, trace):
        for event in events(trace):
            self.thread = event[0]
            self.clock[event[0]] += event[2] == "exec"
            yield event

    def steps(self, point):
        """The step of most touches, touches of it in a row, and instructions between them; or nothing."""
        touches = self.touches[point]
        steps = Counter(b[0] - a[0] for a, b in zip(touches, touches[1:]))
        step, n = steps.most_common(1)[0] if steps else (0, 0)
        if not step or 2 * n <= len(touches):
            return None
        times = [b[2] - a[2] for a, b in zip(touches, touches[1:]) if b[0] - a[0] == step and a[1] == b[1]]
        return step, len(touches) / (len(touches) - n), sum(times) / len(times)

    def is_worth(self, point):
        n, every = self.model.why.points[point], sum(x["misses"] for x in self.model.why.points.values())
        return n["misses"] and point[1] != "fetch" and 100 * n["misses"] >= every and 2 * (n["cold"] + n["capacity"]) > n["misses"]

    def lead(self, point, along, cycles, ipc):
        """The level, and how many of these steps ahead; or nothing, if there are not so many."""
        level = max(sorted(self.found[point]), key=lambda k: self.found[point][k])
        ahead = math.ceil(cycles[level] * ipc / along[2])
        return (level, ahead) if ahead < along[1] else None

    def advice(self, cycles, ipc):
        """What is to be told of points that go in steps: their misses, step, row, instructions, cycles, steps and bytes ahead."""
        told = Counter()
        for point in filter(self.is_worth, self.touches):
            steps, misses, line = self.steps(point), self.model.why.points[point]["misses"], self.model.why.shape["line"]
            if not steps or 4 * misses <= 3 * (len(self.touches[point]) * min(abs(steps[0]), line) // line):
                continue
            lead = self.lead(point, steps, cycles, ipc)
            if lead:
                told[misses, point[1], steps[0], f"{steps[1]:.1f}", f"{steps[2]:.1f}", cycles[lead[0]], lead[1], lead[1] * steps[0]] += 1
        return told


PREFETCH = re.compile(r".* steps of (-?\d+) bytes, ([\d.]+) in a row, ([\d.]+) instructions from one to the next; \w+ takes (\d+) cycles of ([\d.]+) instructions: "
                      r"(?:for the index )?(\d+) steps? ahead(?:, (-?\d+) bytes)?")


def prefetches(result, remedy, ipc):
    told = []
    for row in result["advice"]:
        if row["remedy"] == remedy:
            step, in_row, insns, cycles, rate, ahead, far = PREFETCH.fullmatch(row["because"]).groups()
            require(float(rate) == ipc, f"{row['because']}: {ipc} instructions in a cycle")
            told.append((row["variable"], row["misses"], row["kind"], int(step), in_row, insns, int(cycles), int(ahead), *([int(far)] if far else [])))
    return told


@case
def how_far_ahead_to_prefetch():
    program, trace = small("ahead")
    text = "L1I size=1K ways=2\nL1D size=1K ways=4 {}\nL2 size=8K ways=8 {}\n{}"
    path = WORK / "ahead.txt"
    seen = set()
    for first, second, rest, cycles, ipc in (("", "", "", {1: 40, 2: 200}, 2), ("latency=3", "latency=17", "memory 333\nipc 1.5\n", {1: 17, 2: 333}, 1.5),
                                             ("", "prefetch=stride", "memory 1000\n", {1: 40, 2: 1000}, 2), ("prefetch=next", "", "", {1: 40, 2: 200}, 2),
                                             ("prefetch=stride", "", "", {1: 40, 2: 200}, 2)):
        path.write_text(text.format(first, second, rest))
        for level in ("L1D",) if first.startswith("prefetch") else ("L1D", "L2"):
            where = f"{path.read_text()!r} {level}"
            result = analysis("cache", "--config", path, "--why", "--level", level, "--by", "instruction", trace)
            walks = Walks(Model(path.read_text(), False, level), trace)
            ours, plain = prefetches(result, "prefetch", ipc), walks.advice(cycles, ipc)
            require(Counter(x[1:] for x in ours) == plain, f"{where}: {ours}, plainly {plain}")
            names = {x[0] for x in ours}
            require(not names & {"resident", "rows", "hashed", "table"}, f"{where}: {names}")
            require({"forward", "backward", "far"} <= names or "prefetch" in first + second, f"{where}: only {names}")
            is_helped = first.startswith("prefetch") or second.startswith("prefetch") and level == "L2"
            require("forward" in names or is_helped, f"{where}: {names}")
            require("forward" not in names or not is_helped, f"{where}: forward is prefetched already")
            seen |= {x[6:] for x in ours}
            require_gather(prefetches(result, "prefetch by index", ipc), walks, program, where, cycles, ipc)
    require(len(seen) > 12, f"hardly anything is told: {seen}")


def require_gather(told, walks, program, where, cycles, ipc):
    """The table is the only one that is read by an index from memory, in steps."""
    table, index = ({point for point, touches in walks.touches.items() if point[1] == "read" and all(start <= address < end for address, _, _ in touches)}
                    for name in ("table", "index_of") for start, end, symbol in objects_of(program) if symbol == name)
    (table,), (index,) = table, index
    steps, misses = walks.steps(index), walks.model.why.points[table]["misses"]
    lead = walks.lead(table, steps, cycles, ipc)
    plain = [("table", misses, "read", steps[0], f"{steps[1]:.1f}", f"{steps[2]:.1f}", cycles[lead[0]], lead[1])]
    require(told == plain, f"{where}: by index {told}, plainly {plain}")


@case
def why_of_ordinary_programs():
    """Libraries, the heap, several processes: the tables sum up, whatever rows stand for."""
    for trace in (record("ls", "/bin/ls", "-l", "/etc"), record("two", "/bin/sh", "-c", "(exit 0); exit 0")):
        for level, by in (("l1", "instruction"), ("ll", "line"), ("l1", "function")):
            args = ["--D1=2048,2,64", "--LL=16384,4,64", "--why", "--level", level, "--by", by]
            results = [analysis("cache", "-j", jobs, *args, trace) for jobs in ("1", "4")]
            require(results[0] == results[1], f"{trace.name}: the number of threads matters")
            require_sums(results[0], f"{trace.name} {level} {by}")
            total, why = results[0]["total"], results[0]["why"]
            missed = total["D1mr"] + total["D1mw"] if level == "l1" else total["ILmr"] + total["DLmr"] + total["DLmw"]
            require(missed <= why["misses"] <= 2 * missed, f"{why['misses']} lines missed, {missed} references did")


@case
def why_is_asked_wrongly():
    path = WORK / "exclusive.txt"
    path.write_text("L1 size=1K ways=2\nL2 size=4K ways=2 exclusive")
    refused(["--config", path, "--why", "--level=L2"], "exclusive")
    refused(["--config", path, "--why", "--level=L3"], "L1 L2, not L3")
    refused(["--config", path, "--level=L1"], "--why")
    for line, why in (("ipc 0", "more than 0"), ("ipc x", "more than 0"), ("memory 0", "cycles are"), ("memory", "cycles are"), ("L3 size=8K ways=2 latency=x", "cycles are")):
        path.write_text(f"L1 size=1K ways=2\nL2 size=4K ways=2\n{line}\n")
        refused(["--config", path], why)


@case
def why_is_the_same_live():
    program = multiply(16)[0]
    path = WORK / "live.txt"
    path.write_text("L1I size=1K ways=2 private\nL1D size=768 ways=3 private prefetch=stride\nL2 size=2K ways=8 inclusive\nDTLB entries=8 ways=4\n")
    for knobs, jobs, level in (("", "1", "L1D"), ("tinybuf", "3", "L2"), ("hot,tinybuf", "8", "L1D")):
        live, stored = live_and_stored(program, ["cache", "--config", path, "--why", "--level", level, "-j", jobs], knobs)
        require(live == stored and live["why"]["evictions"] > 100, f"GAIT_STRESS={knobs} -j {jobs}: live {live['why']}, stored {stored['why']}")

    program = allocated()[0]
    for knobs, jobs in (("", "3"), ("tinybuf", "1")):
        live, stored = live_and_stored(program, ["cache", "--config", path, "--why", "-j", jobs], knobs)
        require(live == stored and any("heap.c" in row["variable"] for row in live["variables"]), f"GAIT_STRESS={knobs} -j {jobs}: blocks have other names live")


if __name__ == "__main__":
    main()
