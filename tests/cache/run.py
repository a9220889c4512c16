#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait cache counts is what a plain simulator, written from its description alone (model.py), counts on the same events.

    tests/cache/run.py [NAME]...     only the cases whose names contain one of these

Counts are compared in all, for each instruction, cache and shared line; with 1, 2, 3, 4 and 8 threads the results are the same to the
last byte. Shapes are odd on purpose: one way, sets that are no power of two, 8 ways (which gait has code of its own for), caches
so small that everything misses.
"""
import itertools
import random
import subprocess
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402
from model import Model  # noqa: E402

WORK = use("cache")
JOBS = (1, 2, 3, 4, 8)
SOME_JOBS = itertools.cycle(((1, 2, 8), (1, 4, 3)))
# I1, D1, LL: size, ways, line.
SHAPES = [
    ((32768, 8, 64), (32768, 8, 64), (262144, 16, 64)),
    ((1024, 1, 32), (2048, 1, 64), (16384, 4, 128)),
    ((3 * 2 * 64, 2, 64), (5 * 3 * 32, 3, 32), (7 * 8 * 64, 8, 64)),
    ((512, 8, 64), (512, 8, 64), (1024, 16, 64)),
    ((4096, 8, 32), (8192, 8, 128), (12 * 32 * 64, 12, 32)),
    ((49152, 12, 64), (16384, 4, 16), (196608, 3, 64)),
]
L1 = "L1I size=1K ways=2\nL1D size=2K ways=4 {}\n"


# -- gait and the model -------------------------------------------------------------------------------------------------

def options_of(shape):
    return [f"--{name}={size},{ways},{line}" for name, (size, ways, line) in zip(("I1", "D1", "LL"), shape)]


def text_of(shape):
    """The same as a description."""
    return "\n".join(f"{name} size={size} ways={ways} line={line} write=ignore" for name, (size, ways, line) in zip(("L1I", "L1D", "L2"), shape))


def cache(*args):
    return analysis("cache", "--by", "instruction", *args)


@lru_cache(maxsize=None)
def events(trace):
    found = list(events_of(trace))
    require(len(found) > 1000, "hardly any events")
    return found


def compare(result, model, where):
    """All that is counted. Instructions are compared as a bag: where they are is told by module and offset."""
    names = [name for name in result["rows"][0] if name not in ("MPKI", "offset", "function", "module")]
    for name in names:
        ours, plain = result["total"][name], sum(n[name] for n in model.counts.values())
        require(ours == plain, f"{where}: {name} is {ours} in all, plainly {plain}")
    ours = Counter(tuple(row[name] for name in names) for row in result["rows"])
    plain = Counter(tuple(n[name] for name in names) for n in model.counts.values())
    require(ours == plain, f"{where}: of single instructions {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")
    for row in result["caches"]:
        for name, plain in model.stats[row["level"]].items():
            require(row[name] == plain, f"{where}: {name} of {row['level']} is {row[name]}, plainly {plain}")
    for name in ("upgrades", "interventions") if model.private else ():
        require(result["total"][name] == getattr(model, name), f"{where}: {name} {result['total'][name]}, plainly {getattr(model, name)}")
    if model.sharing:
        compare_sharing(result["sharing"], model, where)


def compare_sharing(rows, model, where):
    length = model.paths["D"][0]["line"]
    ours = sorted((r["address"], r["invalidations"], r["misses"], r["false_misses"], r["cores"]) for r in rows)
    plain = sorted((tag * length, n[0], n[1], n[2], len(n[3])) for tag, n in model.lines.items())
    require(ours == plain, f"{where}: shared lines {ours[:4]}, plainly {plain[:4]}")
    for r in rows:
        kind = "none" if not r["misses"] else {0: "true", r["misses"]: "false"}.get(r["false_misses"], "both")
        require(r["sharing"] == kind, f"{where}: {r} is called {r['sharing']}, not {kind}")


# -- Why ------------------------------------------------------------------------------------------------------------------

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
    """Symbols of data: (start, end, name)."""
    words = (line.split() for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines())
    return [(int(w[0], 16), int(w[0], 16) + int(w[1], 16), w[3]) for w in words if len(w) == 4 and w[2] in "bBdDrR"]


def compare_variables(result, why, program, where):
    """Those that have symbols, by these; all others together."""
    objects = objects_of(program)
    names = {name for _, _, name in objects}

    @lru_cache(maxsize=None)
    def name_of(address):
        return next((name for start, end, name in objects if start <= address < end), None)

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


# -- Runs -----------------------------------------------------------------------------------------------------------------

def by_any_number(where, *args):
    """The result, which several numbers of threads agree on; which ones, changes from call to call."""
    numbers = next(SOME_JOBS)
    results = [cache("-j", str(jobs), *args) for jobs in numbers]
    for jobs, result in zip(numbers, results):
        require(result == results[0], f"{where}: -j {jobs} counts {result['total']}, -j {numbers[0]} {results[0]['total']}")
    return results[0]


def compare_text(trace, text, sharing=False, why=None, program=None):
    """A described hierarchy; the model's account. why: the cache that is asked why."""
    path = WORK / "caches.txt"
    path.write_text(text)
    where = f"{trace.name}, {text.strip()!r}" + (f", why {why}" if why else "")
    result = by_any_number(where, "--config", path, *(["--sharing"] if sharing else []), *(["--why", "--level", why] if why else []), trace)
    model = Model(text, sharing, why).run(events(trace))
    compare(result, model, where)
    if why:
        compare_why(result, model.why, where)
    if program:
        compare_variables(result, model.why, program, where)
    return model


def compare_shapes(trace, shapes=SHAPES):
    """cachegrind's options."""
    for shape in shapes:
        where = f"{trace.name} {shape}"
        result = by_any_number(where, *options_of(shape), trace)
        for row, name in zip(result["caches"], ("L1I", "L1D", "L2")):
            row["level"] = name
        compare(result, Model(text_of(shape)).run(events(trace)), where)


def walk(threads=0, knobs="hot,tinybuf"):
    return walk_trace(threads, knobs)


@lru_cache(maxsize=None)
def walk_trace(threads, knobs):
    options = ["-O1", "-nostdlib", "-static", "-fno-stack-protector", f"-DTHREADS={threads}", f"-DROUNDS={4 if threads else 50}"]
    program = build(f"walk{threads}", HERE / "walk.c", *options)
    return record(f"walk{threads}{knobs.replace(',', '')}", program, GAIT_STRESS=knobs)


# -- Two levels -----------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    compare_shapes(record("true", "/bin/true"), SHAPES[1:2])


@case
def references_of_all_sizes_across_lines():
    compare_shapes(record("odd", build("odd", HERE / "odd_references.c", "-static")), SHAPES[3:5])


@case
def a_reference_that_faults_in_its_middle():
    compare_shapes(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c", "-static")), SHAPES[2:3])


@case
def small_buffers_and_hot_units():
    for knobs, shapes in (("", SHAPES[:2]), ("tinybuf", SHAPES[2:4]), ("hot,tinybuf", SHAPES)):
        compare_shapes(walk(0, knobs), shapes)


@case
def live_is_as_stored():
    program = build("odd_static", HERE / "odd_references.c", "-static", "-no-pie")
    path = WORK / "live.txt"
    path.write_text("L1I size=1K ways=2 private\nL1D size=3K ways=3 private prefetch=stride\nL2 size=8K ways=8 inclusive\nDTLB entries=8 ways=4\n")
    for knobs, jobs, options in (("", "1", options_of(SHAPES[2])), ("tinybuf", "2", options_of(SHAPES[3])),
                                 ("hot,tinybuf", "8", options_of(SHAPES[1])), ("lazy,tinybuf", "4", ["--config", path]), ("tinybuf", "3", ["--config", path, "--why"]), ("tinybuf", "8", ["--config", path])):
        live, stored = live_and_stored(program, ["cache", "--by", "instruction", "-j", jobs, *options], knobs)
        require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


# -- Described hierarchies --------------------------------------------------------------------------------------------------

@case
def every_policy():
    for policy in ("lru", "plru", "fifo", "random", "rrip"):
        for ways in (1, 4, 8):
            text = "".join(f"{name} size={ways * sets * 64} ways={ways} policy={policy}\n" for name, sets in (("L1I", 4), ("L1D", 4), ("L2", 8)))
            compare_text(walk(), text)


@case
def writes():
    for first in ("write=back", "write=through", "write=through allocate=no", "allocate=no"):
        for second in ("write=back", "write=through allocate=no", "allocate=no policy=rrip"):
            model = compare_text(walk(), L1.format(first) + f"L2 size=4K ways=4 {second}\nL3 size=16K ways=8")
            require("through" in first + second or model.stats["L1D"]["writebacks"] > 50, f"{first}: hardly anything is written back")


@case
def inclusion():
    for second, third in (("inclusive", ""), ("exclusive", ""), ("exclusive", "inclusive"), ("inclusive", "exclusive"), ("exclusive", "exclusive")):
        model = compare_text(walk(), L1.format("") + f"L2 size=4K ways=4 {second}\nL3 size=8K ways=8 {third}")
        require("inclusive" not in (second, third) or sum(n["withdrawn"] for n in model.stats.values()), "nothing is withdrawn")


@case
def prefetchers():
    for first, second in (("next", "none"), ("stride", "none"), ("none", "next"), ("none", "stride"), ("next", "stride"), ("stride", "next")):
        for more in ("", "inclusive"):
            model = compare_text(walk(), L1.format(f"prefetch={first}") + f"L2 size=8K ways=4 prefetch={second} {more}")
            require(sum(n["useful"] for n in model.stats.values()) > 3, f"{first}, {second}: no prefetch is of use")


@case
def threads_with_private_caches():
    first = "cores 3\nL1I size=1K ways=2 private\nL1D size=2K ways=8 private {}\n"
    for last in ("L2 size=32K ways=8 shared", "L2 size=32K ways=8 shared inclusive", "L2 size=32K ways=8 shared exclusive",
                 "L2 size=8K ways=4 private inclusive\nL3 size=32K ways=8 inclusive", "L2 size=8K ways=4 private exclusive\nL3 size=8K ways=8 exclusive",
                 "L2 size=8K ways=4 private prefetch=next\nL3 size=16K ways=8"):
        for how in ("", "write=through allocate=no"):
            if "exclusive" in last and how:
                continue
            model = compare_text(walk(20), first.format(how) + last, sharing=True)
            false = [n for n in model.lines.values() if n[2]]
            require(false and any(n[1] > n[2] for n in model.lines.values()), "no false sharing, or nothing but that")


@case
def sharing_is_named():
    """Lines of `apart` are shared falsely, those of `together` truly, by the line of the source that says so. One line may hold two."""
    program = build("walk_named", HERE / "walk.c", "-O1", "-g", "-nostdlib", "-static", "-fno-stack-protector", "-DTHREADS=20", "-DROUNDS=5")
    symbols = {s.split()[-1]: int(s.split()[0], 16) for s in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines()}
    path = WORK / "named.txt"
    path.write_text("cores 4\nL1I size=32K ways=8 private\nL1D size=256K ways=8 private\nL2 size=1M ways=8")
    rows = {r["address"]: r for r in cache("--config", path, "--sharing", record("named", program))["sharing"]}
    source = (HERE / "walk.c").read_text().splitlines()
    for name, lines, kind in (("apart", 4, "false"), ("together", 4, "true")):
        for i in range(lines):
            row = rows[symbols[name] + 64 * i]
            require(row["sharing"] == kind and row["variables"] == name and row["function"] in ("walk", "child"), f"{name}: {row}")
            require(f"{name}[" in source[row["line"] - 1], f"{name}: line {row['line']} is not where it is written")
    row = rows[symbols["left"] // 64 * 64]
    require(row["variables"] == "left right", f"{row}")


@case
def pages_of_two_sizes():
    plain = L1.format("") + "L2 size=8K ways=4\n"
    for tlbs in ("DTLB entries=8 ways=2\nITLB entries=1 ways=1", "DTLB entries=6 ways=full policy=rrip\nITLB entries=2 ways=2\nSTLB entries=12 ways=4",
                 "cores 2\nDTLB entries=4 ways=2 page=4K policy=fifo\nDTLB entries=1 ways=1 page=2M\nITLB entries=2 ways=full\nSTLB entries=6 ways=2 shared\nhuge 400000-401000",
                 "DTLB entries=8 ways=2 policy=plru page=2M\nSTLB entries=8 ways=4 policy=random", "DTLB entries=2 ways=1\nITLB entries=1 ways=1\nhuge all",
                 "DTLB entries=8 ways=1 page=4K\nDTLB entries=3 ways=3 page=2M\nSTLB entries=4 ways=4 policy=fifo\nhuge all"):
        for trace in (walk(), walk(20)):
            compare_text(trace, plain + tlbs)


def describe_any(pick):
    """Any hierarchy that can be, as far as the rules of the man page say."""
    levels, split = pick.randint(1, 4), pick.randint(0, 3)
    private = pick.choice((0, 0, 1, 2)) if levels > 1 else 0
    plain = not private and pick.random() < 0.3
    line, text, above = pick.choice((16, 32, 64, 64, 128)), f"cores {pick.randint(1, 5)}\n", None
    for level in range(1, levels + 1):
        here = []
        for side in ("I", "D") if level <= split else ("",):
            policy = pick.choice(("lru", "lru", "plru", "fifo", "random", "rrip"))
            ways = pick.choice((1, 2, 4, 8, 8)) if policy == "plru" else pick.choice((1, 2, 3, 4, 5, 8, 8, 16))
            sets = pick.choice((1, 2, 4, 8, 8, 16, 3, 6, 12)) * level
            length = pick.choice((16, 32, 64, 128)) if plain else line
            words = [f"L{level}{side}", f"size={length * ways * sets}", f"ways={ways}", f"line={length}", f"policy={policy}"]
            words.append("private" if level <= private else "shared")
            write, allocate, inclusion, prefetch = ("ignore" if plain else pick.choice(("back", "back", "through"))), "yes", "neither", "none"
            if not plain:
                inclusion = pick.choice(("neither", "neither", "inclusive", "exclusive")) if level > 1 else "neither"
                if inclusion == "exclusive" and any(a != ("back", "yes") for a in above):
                    inclusion = "neither"
                if inclusion == "exclusive":
                    write = "back"
                else:
                    prefetch = pick.choice(("none", "none", "none", "next", "stride"))
                    prefetch = "next" if prefetch == "stride" and side == "I" else prefetch
                if inclusion == "neither":
                    allocate = pick.choice(("yes", "yes", "no"))
            here.append((write, allocate))
            words += [f"write={write}", f"allocate={allocate}", inclusion, f"prefetch={prefetch}"]
            text += " ".join(words) + "\n"
        above = here
    return text, private


@case
def any_hierarchy():
    pick = random.Random(7)
    for i in range(30):
        text, private = describe_any(pick)
        compare_text(walk(20) if i % 2 else walk(), text, sharing=private > 0 and pick.random() < 0.5)


# -- Why ------------------------------------------------------------------------------------------------------------------

def walk_program(threads=0):
    walk(threads)
    return WORK / f"walk{threads}"


@case
def why_each_level_misses():
    """With every kind of hierarchy; the totals also of other programs."""
    plain = "L1I size=1K ways=2 line=32 write=ignore\nL1D size=2K ways=4 line=64 write=ignore\nL2 size=8K ways=4 line=128 write=ignore\nL3 size=12K ways=3 line=16 write=ignore"
    for name in ("L1I", "L1D", "L2", "L3"):
        compare_text(walk(), plain, why=name, program=walk_program())
    rich = "cores 3\nL1I size=1K ways=2 private\nL1D size=2K ways=8 private {}\nL2 size=4K ways=2 private {}\nL3 size=16K ways=8 inclusive"
    for first, second in (("prefetch=stride", ""), ("write=through allocate=no", "inclusive"), ("policy=rrip", "prefetch=next")):
        for name in ("L1D", "L2", "L3"):
            compare_text(walk(20), rich.format(first, second), why=name, program=walk_program(20))
    compare_text(walk(), "L1 size=4K ways=2 prefetch=next\nL2 size=8K ways=2 exclusive", why="L1", program=walk_program())


@case
def why_any_hierarchy_misses():
    pick = random.Random(11)
    for i in range(30):
        text, _ = describe_any(pick)
        names = [line.split()[0] for line in text.splitlines()[1:] if "exclusive" not in line]
        model = compare_text(walk(20) if i % 2 else walk(), text, why=pick.choice(names), program=walk_program(20 if i % 2 else 0))
        require(model.why.points, f"{text}: nothing is asked for")


@case
def every_kind_of_miss_is_met():
    text = "cores 2\nL1I size=1K ways=2 private\nL1D size=1K ways=1 private\nL2 size=32K ways=8"
    model = compare_text(walk(20), text, why="L1D")
    for kind in ("cold", "capacity", "conflict", "taken"):
        require(sum(n[kind] for n in model.why.points.values()) > 5, f"hardly any misses are {kind}")


def multiply(n=40, pad=0):
    program = build(f"multiply{n}_{pad}", HERE / "multiply.c", "-O1", "-g", "-nostdlib", "-static", "-fno-stack-protector", f"-DN={n}", f"-DPAD={pad}")
    return program, record(f"multiply{n}_{pad}", program)


@case
def the_matrix_that_is_walked_by_columns():
    """As the model says, and as everybody knows: b misses, and evicts itself."""
    program, trace = multiply()
    text = "L1I size=1K ways=2\nL1D size=1K ways=2\nL2 size=8K ways=4"
    for level in ("L1D", "L2"):
        compare_text(trace, text, why=level, program=program)
    path = WORK / "caches.txt"
    result = analysis("cache", "--config", path, "--why", trace)  # by lines
    source = (HERE / "multiply.c").read_text().splitlines()
    worst, evictor = result["points"][0], result["evictors"][0]
    for row, prefix in ((worst, ""), (evictor, ""), (evictor, "by_")):
        require((row[prefix + "kind"], row[prefix + "variable"], row[prefix + "function"]) == ("read", "b", "multiply"), f"{row}")
        require("b[k][j]" in source[row[prefix + "line"] - 1], f"{row} is not where b is read")
    require(worst["misses"] == 40 ** 3 and worst["hits"] == 0 and abs(worst["use"] - 12.5) < 1e-9, f"each b[k][j] misses, for 8 bytes of 64: {worst}")
    require(result["variables"][0]["variable"] == "b" and result["variable_evictors"][0]["by_variable"] == "b", "b is not the worst variable")
    require_sums(result, "multiply")
    require(result["why"]["misses"] == result["total"]["D1mr"] + result["total"]["D1mw"], "no reference has two lines here, so as many miss")


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


# -- The command ----------------------------------------------------------------------------------------------------------

@case
def the_machine_has_its_caches():
    result, sys_caches = cache(walk()), []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        word = {name: (index / name).read_text().strip() for name in ("level", "type", "size", "ways_of_associativity", "coherency_line_size")}
        sys_caches.append((f"L{word['level']}{word['type'][0].replace('U', '')}", int(word["size"][:-1]) << 10, int(word["ways_of_associativity"]),
                           int(word["coherency_line_size"])))
    ours = [(row["level"], row["size"], row["ways"], row["line"]) for row in result["caches"]]
    require(not sys_caches or ours == sys_caches, f"{ours}, the kernel says {sys_caches}")


@case
def rates_follow_from_counts():
    path = WORK / "rates.txt"
    path.write_text("L1I size=1K ways=2\nL1D size=2K ways=4\nL2 size=4K ways=4\nL3 size=8K ways=8")
    result = cache("--config", path, "--sort", "ll", walk())
    total = result["total"]
    misses = {"L1I": total["I1mr"], "L1D": total["D1mr"] + total["D1mw"], "L2": total["I2mr"] + total["D2mr"] + total["D2mw"],
              "L3": total["ILmr"] + total["DLmr"] + total["DLmw"]}
    for row in result["caches"]:
        require(row["misses"] == misses[row["level"]] and abs(row["mpki"] - 1000 * row["misses"] / total["Ir"]) < 1e-6, f"{row}")
    weights = [row["ILmr"] + row["DLmr"] + row["DLmw"] for row in result["rows"]]
    require(weights == sorted(weights, reverse=True), "rows are not sorted by misses of the last level")
    for row, weight in zip(result["rows"], weights):
        require(abs(row["MPKI"] - 1000 * weight / row["Ir"]) < 1e-6, f"{row}")


@case
def processes_do_not_share_lines():
    trace = record("processes", "/bin/sh", "-c", "(exit 0); (exit 0); exit 0")
    path = WORK / "processes.txt"
    path.write_text("L1I size=32K ways=8 private\nL1D size=32K ways=8 private\nL2 size=1M ways=8\nDTLB entries=64 ways=4\nITLB entries=64 ways=4\n")
    results = [cache("--config", path, "-j", str(jobs), trace) for jobs in JOBS]
    require(all(r == results[0] for r in results), "the number of threads matters")
    require(results[0]["total"]["Ir"] == sum(1 for e in events(trace) if e[2] == "exec"), "not all instructions are there")
    require(results[0]["total"]["Inv"] == 0, "processes take lines from each other")


@case
def status_and_output_pass_through():
    run = subprocess.run([GAIT, "cache", "--", "sh", "-c", "echo said; exit 3"], capture_output=True, text=True)
    require(run.returncode == 3 and run.stdout.startswith("said\n"), f"status {run.returncode}, {run.stdout[:40]!r}")


def refused(options, word):
    run = subprocess.run([GAIT, "cache", *options, "x.gait"], capture_output=True, text=True)
    require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")


@case
def shapes_that_cannot_be():
    for given, word in (("100,8,64", "multiple"), ("32768,0,64", "ways"), ("32768,8,48", "power of two"), ("x", "SIZE,WAYS,LINE"),
                        ("32768,8,64,1", "SIZE,WAYS,LINE")):
        refused([f"--D1={given}"], word)


@case
def descriptions_that_cannot_be():
    good = "L1I size=1K ways=2\nL1D size=2K ways=4\n"
    path = WORK / "bad.txt"
    for text, words in (
            ("L1 size=1K ways=2\n\nL2 size=1x ways=2", ("bad.txt:3", "1x", "K, M or G")), ("L1 size=1K ways=2 policy=mru", ("bad.txt:1", "mru", "lru, plru")),
            ("L9 size=1K", ("L9", "L1 to L4", "STLB")), ("L1 size=1K ways=2 colour=red", ("colour=red", "policy=")), ("L1D size=1K ways=2", ("L1I is missing",)),
            ("", ("first level",)), (good + "L3 size=1K ways=2", ("left out",)), (good + "L1D size=2K ways=4", ("bad.txt:3", "already")),
            (good + "L2 size=1000 ways=2", ("multiple",)), (good + "L2 size=6K ways=3 policy=plru", ("plru", "power of two")),
            (good + "L2 size=4K ways=2 line=128", ("different lengths", "write=ignore")), (good + "L2 size=4K ways=2 private", ("private", "behind")),
            ("L1 size=1K ways=2 inclusive", ("first level",)), (good + "L2 size=4K ways=2 exclusive prefetch=next", ("exclusive", "prefetch=none")),
            ("L1 size=1K ways=2 write=through\nL2 size=4K ways=2 exclusive", ("exclusive", "write=back")),
            (good + "L2 size=4K ways=2 write=ignore", ("all caches or for none",)), ("L1I size=1K ways=2 prefetch=stride\nL1D size=1K ways=2", ("prefetch=next",)),
            (good + "DTLB entries=7 ways=2", ("bad.txt:3", "multiple")), (good + "DTLB entries=8 ways=2 page=1G", ("4K, 2M, both",)),
            (good + "DTLB entries=8 ways=2\nDTLB entries=8 ways=2 page=2M", ("already",)), (good + "cores 65", ("between 1 and 64",)),
            (good + "huge 5", ("START-END",)), (good + "L2 size=4K ways=2\nL3I size=4K ways=2\nL3D size=4K ways=2", ("level 3",))):
        path.write_text(text)
        for word in words:
            refused(["--config", path], word)
    refused(["--config", WORK / "absent.txt"], "cannot be read")
    path.write_text(good)
    refused(["--config", path, "--D1=1024,2,64"], "leave out")
    refused(["--config", path, "--sharing"], "private")
    refused(["--config", path, "--sort=tlb"], "no such thing")


if __name__ == "__main__":
    main()
