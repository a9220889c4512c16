#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait cache counts is what a plain simulator, written from its description alone (model.py), counts on the same events.

    tests/cache/run.py [NAME]...     only the cases whose names contain one of these

Counts are compared in all, for each instruction, cache and shared line; with 1, 2, 3, 4 and 8 threads the results are the same to the
last byte. Shapes are odd on purpose: one way, sets that are no power of two, 8 ways (which gait has code of its own for), caches
so small that everything misses.
"""
import random
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]
from cases import GAIT, ROOT, build, case, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("cache")
from compare import JOBS, L1, MANY_WAYS, SHAPES, cache, compare_shapes, compare_text, describe_any, events, options_of, refused, walk, walk_program  # noqa: E402


# -- Two levels -----------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    compare_shapes(record("true", "/bin/true"), SHAPES[1:2])


@case
def references_of_all_sizes_across_lines():
    compare_shapes(record("odd", build("odd", HERE / "odd_references.c", "-static")), SHAPES[3:])


@case
def a_reference_that_faults_in_its_middle():
    compare_shapes(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c", "-static")), SHAPES[2:3])


@case
def small_buffers_and_hot_units():
    for knobs, shapes in (("", SHAPES[:2]), ("tinybuf", SHAPES[2:4]), ("hot,tinybuf", SHAPES)):
        compare_shapes(walk(0, knobs), shapes)


@case
def lines_that_come_again_and_again():
    options = ["-O1", "-nostdlib", "-static", "-fno-stack-protector"]
    program = build("groups", HERE / "groups.c", *options)
    for knobs in ("", "hot,tinybuf"):
        compare_shapes(record(f"groups{knobs[:3]}", program, GAIT_STRESS=knobs), MANY_WAYS)


@case
def live_is_as_stored():
    program = build("odd_static", HERE / "odd_references.c", "-static", "-no-pie")
    path = WORK / "live.txt"
    path.write_text("L1I size=1K ways=2 private\nL1D size=3K ways=3 private prefetch=stride\nL2 size=8K ways=8 inclusive\nDTLB entries=8 ways=4\n")
    for knobs, jobs, options in (("", "1", options_of(SHAPES[2])), ("tinybuf", "2", options_of(SHAPES[3])),
                                 ("hot,tinybuf", "8", options_of(SHAPES[1])), ("lazy,tinybuf", "4", ["--config", path]), ("tinybuf", "8", ["--config", path])):
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
            _, model = compare_text(walk(), L1.format(first) + f"L2 size=4K ways=4 {second}\nL3 size=16K ways=8")
            require("through" in first + second or model.stats["L1D"]["writebacks"] > 50, f"{first}: hardly anything is written back")


@case
def writes_where_sets_are_no_power_of_two():
    trace = record("groups_written", build("groups", HERE / "groups.c", "-O1", "-nostdlib", "-static", "-fno-stack-protector"))
    for ways, sets in ((2, 1), (1, 3), (4, 3), (2, 5)):
        for more in ("", "prefetch=next"):
            compare_text(trace, f"L1I size=1K ways=2\nL1D size={64 * ways * sets} ways={ways} {more}\nL2 size=8K ways=8")


@case
def private_caches_of_threads_that_are_alone_at_first():
    """The levels see lists of touches while one core uses a memory, and each touch from then on. Sets of 5 to 16 lines are vectors, if they are as many as a power of two."""
    alone = record("alone", build("groups", HERE / "groups.c", "-O1", "-nostdlib", "-static", "-fno-stack-protector"))
    for ways, sets in (((8, 12, 16, 16), (4, 4, 8, 32)), ((5, 9, 11, 15), (2, 8, 8, 16)), ((8, 8, 8, 16), (2, 2, 4, 4)), ((4, 12, 20, 7), (4, 3, 2, 24)), ((2, 3, 6, 12), (2, 2, 2, 8))):
        text = "".join(f"{name} size={64 * w * s} ways={w} {scope}\n"
                       for name, w, s, scope in zip(("L1I", "L1D", "L2", "L3"), ways, sets, ("private", "private", "private", "shared")))
        for trace in (walk(0), walk(20), walk(20, "tinybuf"), alone):
            _, model = compare_text(trace, "cores 3\n" + text)
            require(sum(n["writebacks"] for n in model.stats.values()) > 100, "hardly anything is written back")


@case
def inclusion():
    for second, third in (("inclusive", ""), ("exclusive", ""), ("exclusive", "inclusive"), ("inclusive", "exclusive"), ("exclusive", "exclusive")):
        _, model = compare_text(walk(), L1.format("") + f"L2 size=4K ways=4 {second}\nL3 size=8K ways=8 {third}")
        require("inclusive" not in (second, third) or sum(n["withdrawn"] for n in model.stats.values()), "nothing is withdrawn")


@case
def prefetchers():
    for first, second in (("next", "none"), ("stride", "none"), ("none", "next"), ("none", "stride"), ("next", "stride"), ("stride", "next")):
        for more in ("", "inclusive"):
            _, model = compare_text(walk(), L1.format(f"prefetch={first}") + f"L2 size=8K ways=4 prefetch={second} {more}")
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
            _, model = compare_text(walk(20), first.format(how) + last, sharing=True)
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
    require(row["variables"] == "left, right", f"{row}")


@case
def pages_of_two_sizes():
    plain = L1.format("") + "L2 size=8K ways=4\n"
    for tlbs in ("DTLB entries=8 ways=2\nITLB entries=1 ways=1", "DTLB entries=6 ways=full policy=rrip\nITLB entries=2 ways=2\nSTLB entries=12 ways=4",
                 "cores 2\nDTLB entries=4 ways=2 page=4K policy=fifo\nDTLB entries=1 ways=1 page=2M\nITLB entries=2 ways=full\nSTLB entries=6 ways=2 shared\nhuge 400000-401000",
                 "DTLB entries=8 ways=2 policy=plru page=2M\nSTLB entries=8 ways=4 policy=random", "DTLB entries=2 ways=1\nITLB entries=1 ways=1\nhuge all",
                 "DTLB entries=8 ways=1 page=4K\nDTLB entries=3 ways=3 page=2M\nSTLB entries=4 ways=4 policy=fifo\nhuge all"):
        for trace in (walk(), walk(20)):
            compare_text(trace, plain + tlbs)


@case
def any_hierarchy():
    pick = random.Random(7)
    for i in range(30):
        text, private = describe_any(pick)
        compare_text(walk(20) if i % 2 else walk(), text, sharing=private > 0 and pick.random() < 0.5)


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
def several_processes_with_threads_touch_line_by_line_what_they_touch_in_lists():
    """Who asks for what cores share has every touch looked at by itself; what is missed and written back is the same, for each instruction, while memories come to be
    used by several cores, and others, which one core uses, let lines go that such a memory has shared."""
    threads, groups = walk_program(20), build("groups", HERE / "groups.c", "-O1", "-nostdlib", "-static", "-fno-stack-protector")
    trace = record("mixed", "/bin/sh", "-c", f"{threads} & {groups}; {threads}; wait")
    path = WORK / "mixed.txt"
    for text in ("cores 2\nL1I size=640 ways=5 private\nL1D size=1536 ways=12 private\nL2 size=8K ways=16 private\nL3 size=32K ways=16",
                 "cores 3\nL1I size=1K ways=4 private\nL1D size=768 ways=4 private\nL2 size=16K ways=8"):
        path.write_text(text)
        for jobs in (1, 2, 4):
            lists, single = (cache("--config", path, "-j", str(jobs), *more, trace) for more in ((), ("--sharing",)))
            require(lists["total"]["Inv"] > 100 and lists["caches"] == single["caches"], f"{lists['caches']}, one by one {single['caches']}")
            for a, b in zip(lists["rows"], single["rows"]):
                require(all(a[name] == b[name] for name in a if name in b), f"{a}, one by one {b}")
            require(len(lists["rows"]) == len(single["rows"]), "not the same instructions")


@case
def status_and_output_pass_through():
    run = subprocess.run([GAIT, "cache", "--", "sh", "-c", "echo said; exit 3"], capture_output=True, text=True)
    require(run.returncode == 3 and run.stdout.startswith("said\n"), f"status {run.returncode}, {run.stdout[:40]!r}")


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
