#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait calls data what the source does. A program tells where its variables and blocks are, and from when to when; what is touched then is known from the
events of gait dump; so the names in every table follow.

    tests/variables/run.py [NAME]...     only the cases whose names contain one of these
"""
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, analysis, build, case, events_of, main, require, use  # noqa: E402

WORK = use("variables")


def recorded(name, source, *options, watch="alloc", knobs="", compiler="gcc"):
    """The program's log and its trace; the same addresses in every run, so the environment is always as long."""
    program, trace = build(name, HERE / source, "-g", *options, compiler=compiler), WORK / f"{name}.gait"
    out = subprocess.run(["setarch", "-R", "env", "-i", "GAIT_STRESS=" + knobs.ljust(30, ","), GAIT, "record", f"--watch={watch}", "-o", trace, "--", program],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    return program, trace, out.splitlines()


# -- The model ----------------------------------------------------------------------------------------------------------

class Log:
    """What is where. Blocks are called by their sizes and where they are from, so their names are known when all were seen."""

    def __init__(self, lines, source):
        self.mark = int(lines[0].split()[1], 16)
        self.entries, self.sizes = [], defaultdict(list)
        for line in lines[1:]:
            what, name, start, size, stride, count, number = line.split()
            site = f"{name} at {source}:{number}"
            key = (what, site) if what in ("heap", "mapping") else (what, name)
            self.entries.append((what, key, int(start, 16), int(size), int(stride), int(count)))
            if what in ("heap", "mapping"):
                self.sizes[key].append(int(size))
        self.now = {}  # start -> (end, key)
        self.next = 0
        self.always = []
        for what, key, start, size, stride, count in self.entries:
            if what == "static":
                self.always += [(start + i * stride, start + i * stride + size, key) for i in range(count)]

    def advance(self):
        what, key, start, size, _, _ = self.entries[self.next]
        self.next += 1
        if what == "gone":
            self.now.pop(start, None)
        elif what != "static":
            self.now[start] = start + size, key

    def at(self, address):
        for start, (end, key) in self.now.items():
            if start <= address < end:
                return key
        return next((key for start, end, key in self.always if start <= address < end), None)

    def name(self, key):
        what, text = key
        if what not in ("heap", "mapping"):
            return text
        sizes = sorted(self.sizes[key])
        size = sizes[0] if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]}"
        return f"{'heap block' if what == 'heap' else 'mapping'}{'s' if len(sizes) > 1 else ''} of {size} bytes from {text}"


def accesses(trace, log):
    """Each access: pc, address, size, and what it comes to; None if the log does not say."""
    cache = {}
    for _, pc, what, address, size in events_of(trace):
        if what == "exec":
            continue
        if what == "store" and address == log.mark:
            log.advance()
            cache = {}
        if address not in cache:
            cache[address] = log.at(address)
        yield pc, address, size, cache[address]


def first_touches(trace, log, length):
    """name -> lines that were touched first as part of it."""
    seen, counts = set(), defaultdict(int)
    for _, address, size, key in accesses(trace, log):
        for line in range(address // length, (address + size - 1) // length + 1):
            if line not in seen:
                seen.add(line)
                counts[key] += 1
    return {log.name(k): n for k, n in counts.items() if k}, len(seen)


def aims(trace, log):
    """pc -> the names that its references come to, in order; only of those that come to nothing else."""
    found, vague = defaultdict(list), set()
    for pc, _, _, key in accesses(trace, log):
        if key is None:
            vague.add(pc)
        elif key not in found[pc]:
            found[pc].append(key)
    return {pc: [log.name(k) for k in keys] for pc, keys in found.items() if pc not in vague}


def compare_footprint(name, trace, log_lines, source):
    result, names = analysis("footprint", trace), {}
    for column, length in (("lines", 64), ("pages", 4096)):
        expected, all_lines = first_touches(trace, Log(log_lines, source), length)
        names.update(expected)
        found = defaultdict(int)
        for row in result["variables"]:
            found[row["variable"]] += row[column]
        require(sum(found.values()) == all_lines, f"{name}: {column}: {sum(found.values())} have a name, of {all_lines}")
        for variable, n in expected.items():
            require(found[variable] == n, f"{name}: {variable}: {found[variable]} {column}, not {n}")
    return names


def compare_patterns(name, trace, log_lines, source, least):
    expected = aims(trace, Log(log_lines, source))
    rows = defaultdict(set)
    for row in analysis("patterns", trace)["patterns"]:
        rows[row["offset"]].add(row["variables"])
    compared = 0
    for pc, names in expected.items():
        wanted = ", ".join(names[:4]) + (" and others" if len(names) > 4 else "")
        here = rows.get(pc - 0x400000)  # the program is not moved; other files have other offsets
        if here and len(here) == 1:
            compared += 1
            require(here == {wanted}, f"{name}: what {pc:x} comes to is called {here}, not {wanted}")
    require(compared >= least, f"{name}: only {compared} instructions were compared")
    return {name for names in expected.values() for name in names}


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def names_are_those_of_the_source():
    for level in ("-O0", "-O2"):
        _, trace, log = recorded(f"things{level}", "things.c", level, "-no-pie")
        found = compare_footprint(level, trace, log, "things.c")
        require("plain" in found and any("from make" in x for x in found), f"{level}: hardly anything was compared: {found}")


@case
def instructions_are_told_what_they_come_to():
    for level, least in (("-O0", 20), ("-O1", 10)):
        _, trace, log = recorded(f"things{level}", "things.c", level, "-no-pie")
        names = compare_patterns(level, trace, log, "things.c", least)
        require({"heap", "locals::array", "count::calls"} <= names, f"{level}: {names}")


@case
def operators_of_cxx_are_seen_through():
    for level, least in (("-O0", 5), ("-O2", 3)):
        _, trace, log = recorded(f"cxx{level}", "things.cc", level, "-no-pie", compiler="g++")
        compare_footprint(f"c++ {level}", trace, log, "things.cc")
        compare_patterns(f"c++ {level}", trace, log, "things.cc", least)


@case
def results_are_the_same_however_units_are_made():
    results = []
    for knobs in ("", "tinybuf,hot", "single"):
        _, trace, log = recorded("things-O1", "things.c", "-O1", "-no-pie", knobs=knobs)
        compare_footprint(knobs, trace, log, "things.c")
        results.append([analysis(*options, trace) for options in (["footprint"], ["footprint", "-j", "1"], ["patterns", "-j", "3"])])
        require(results[-1][0] == results[-1][1], f"{knobs}: another number of threads gives other names")
        names = [sorted((r["variable"], r["lines"]) for r in x[0]["variables"]) for x in results]
        require(names[0] == names[-1], f"{knobs}: other names")


@case
def a_live_program_is_told_the_same():
    program, trace, _ = recorded("things-O1", "things.c", "-O1", "-no-pie")
    out = subprocess.run(["setarch", "-R", "env", "-i", "GAIT_STRESS=" + 30 * ",", GAIT, "footprint", "--json", "--top", "1000000", "--results", WORK / "live.json", "--", program],
                         stdout=subprocess.PIPE, check=True)
    import json
    live = json.loads((WORK / "live.json").read_text().splitlines()[-1])
    require(live["variables"] == analysis("footprint", trace)["variables"], "live and stored differ")
    require(out.returncode == 0, "it failed")


@case
def watching_changes_no_event():
    for knobs in ("", "hot,strict", "single"):
        dumps = []
        for watch in ("none", "alloc"):
            _, trace, _ = recorded("things-O2", "things.c", "-O2", "-no-pie", watch=watch, knobs=knobs)
            subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)
            dumps.append(subprocess.run([GAIT, "dump", "--format=lackey", trace], stdout=subprocess.PIPE, check=True).stdout)
        require(dumps[0] == dumps[1], f"{knobs}: the events are others")
    naive = subprocess.run([HERE.parent / "oracle/decode.py", trace], stdout=subprocess.PIPE, check=True).stdout
    require(naive == dumps[1], "the naive decoder reads something else")


@case
def without_watching_the_heap_is_one():
    _, trace, log = recorded("unwatched", "things.c", "-O1", "-no-pie", watch="none")
    result = analysis("footprint", trace)
    names = {row["variable"] for row in result["variables"]}
    require("heap" in names and not any("heap block" in n for n in names), f"{names}")
    require("--watch=alloc" in result["total"]["missing"], f"{result['total']}")
    require("plain" in names, "statics need no watching")


@case
def symbols_are_enough_for_a_name():
    program, trace, log = recorded("bare", "things.c", "-O1", "-no-pie", "-g0")
    names = {row["variable"]: row for row in analysis("footprint", trace)["variables"]}
    require(names["plain"]["type"] is None and names["plain"]["lines"] > 100, f"{names['plain']}")
    require("grid" in names and "config" in names, f"{sorted(names)}")
    require(any(n.startswith("heap blocks of 1000 to 3000 bytes from make in bare") for n in names), f"{sorted(names)}")


main()
