#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tree that gait calls prints is the one that plain.py derives from lists of events: the stepper's for one thread, those of gait dump
for several.

    tests/calls/run.py [NAME]...     only the cases whose names contain one of these
"""
import json
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "oracle")]
import decode  # noqa: E402
import plain  # noqa: E402
from cases import GAIT, ROOT, analysis, build, case, main, record, require, use  # noqa: E402

WORK = use("calls")
COUNTS = ("calls", "self_insns", "self_reads", "self_writes")
ALL = ("insns", "reads", "writes")
# Nothing that differs from run to run: see tests/oracle/compare.sh.
FIXED = ["env", "-i", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "PERL_HASH_SEED=0", "setarch", "-R"]


# -- What there is to know of a trace -----------------------------------------------------------------------------------

def code_of(trace):
    """The bytes of each instruction, and where modules are: (start, end, offset, path)."""
    code, modules, tables = {}, [], {}
    with open(trace, "rb") as f:
        for kind, owner, b in decode.chunks(f):
            if kind == decode.MODULES:
                for _ in range(*b.ints("I")):
                    start, end, offset = b.ints("3Q")
                    modules.append((start, end, offset, b.texts(2)[1].decode()))
            elif kind == decode.UNITS:
                table = tables.setdefault(owner, {name: [] for name in decode.TABLES} | {"Code": bytearray()})
                decode.append(table, b)
    for table in tables.values():
        for insn in table["Insn"]:
            code[insn.pc] = bytes(table["Code"][insn.bytes:insn.bytes + insn.len])
    return code, modules


def names_of(trace):
    """The function of each instruction that ran, by module and offset."""
    return {(row["module"], row["offset"]): row["function"] for row in analysis("cache", "--by", "instruction", trace)["rows"]}


def dump_of(trace):
    return subprocess.run([GAIT, "dump", trace], capture_output=True, text=True, check=True).stdout.splitlines()[1:]


def stepped(program, knobs):
    """What the stepper says of the program, in the same environment as recorded() runs it."""
    events = WORK / "stepper.events"
    subprocess.run(["make", "-s", "-C", ROOT, "build/oracle/stepper"], check=True)
    subprocess.run([*FIXED, "env", f"GAIT_STRESS={knobs}", ROOT / "build/oracle/stepper", "--stack", "-o", events, "--", *program],
                   stdout=subprocess.DEVNULL, check=True)
    return events.read_text().splitlines()


def recorded(name, program, knobs):
    trace = WORK / f"{name}.gait"
    subprocess.run([*FIXED, "env", f"GAIT_STRESS={knobs}", GAIT, "record", "-o", trace, "--", *program], stdout=subprocess.DEVNULL, check=True)
    return trace


# -- Trees --------------------------------------------------------------------------------------------------------------

def paths_of(tree):
    """The rows of a tree by their paths from the root."""
    rows, path = {}, []
    for row in tree:
        path[row["depth"]:] = [(row["function"], row["module"])]
        require(tuple(path[1:]) not in rows, f"two rows for {path}")
        rows[tuple(path[1:])] = row
    return rows


def with_all(nodes):
    """What each node, and the root, has with what it called; nodes without anything of their own included."""
    sums = {}
    for path, (_, *n) in nodes.items():
        for k in range(len(path) + 1):
            have = sums.setdefault(path[:k], [0, 0, 0])
            for i in range(3):
                have[i] += n[i]
    return sums


def functions_of(nodes, sums):
    flat = {}
    for path, n in [(p, nodes.get(p, [0] * 4)) for p in sums if p]:
        row = flat.setdefault(path[-1], [0] * 7)
        for i in range(4):
            row[i] += n[i]
        if path[-1] not in path[:-1]:
            for i in range(3):
                row[4 + i] += sums[path][i]
    return {f: tuple(n) for f, n in flat.items() if n[0] or n[1]}


def compare(result, nodes, where):
    rows, sums = paths_of(result["tree"]), with_all(nodes)
    for path in [*rows, *sums]:
        require(path in rows and path in sums, f"{where}: only one of both has {path} {rows.get(path)} {sums.get(path)}")
        ours, theirs = tuple(rows[path][k] for k in COUNTS), tuple(nodes.get(path, [0] * 4))
        require(ours == theirs, f"{where}: {path} has {ours}, plainly {theirs}")
        require([rows[path][k] for k in ALL] == sums[path], f"{where}: {path} has {[rows[path][k] for k in ALL]} in all, plainly {sums[path]}")
    ours = {(r["function"], r["module"]): tuple(r[k] for k in COUNTS + ALL) for r in result["functions"]}
    theirs = functions_of(nodes, sums)
    for f in {*ours, *theirs}:
        require(ours.get(f) == theirs.get(f), f"{where}: the function {f} has {ours.get(f)}, plainly {theirs.get(f)}")
    total = result["total"]
    require([total[k] for k in ALL] == sums[()], f"{where}: in all {total}, plainly {sums[()]}")
    require(total["contexts"] == len(sums) - 1 and total["depth"] == max(map(len, sums)), f"{where}: {total}")


def calls(trace, *options):
    return analysis("calls", "--min", "0", *options, trace)


def compare_trace(trace, threads_of, lines, *options):
    code, modules = code_of(trace)
    threads = threads_of(lines, code)
    functions = plain.Functions(names_of(trace), modules, threads, code)
    compare(calls(trace, *options), plain.derive(threads, functions, code, "--threads" in options), f"{trace.name} {options}")


def compare_with_stepper(name, program, *knobs):
    for k in knobs:
        compare_trace(recorded(name, program, k), plain.threads_of_stepper, stepped(program, k))


def compare_with_dump(trace, *options):
    compare_trace(trace, plain.threads_of_dump, dump_of(trace), *options)
    counts = json.loads(subprocess.run([GAIT, "info", "--json", trace], capture_output=True, text=True, check=True).stdout)
    total = calls(trace)["total"]
    info = (counts["instructions"], counts["loads"] + counts["modifies"], counts["stores"])
    require(tuple(total[k] for k in ALL) == info, f"{trace.name}: {total}, gait info says {info}")


# -- Cases --------------------------------------------------------------------------------------------------------------

def hard():
    return build("hard", HERE / "hard.cc", "-static-pie", compiler="g++")


@case
def frames_end_in_every_way():
    compare_with_stepper("hard", [hard()], "", "hot,tinybuf", "strict")


@case
def frames_end_in_every_way_while_hot():
    compare_with_stepper("hot", [hard(), "5"], "hot")


@case
def ordinary_programs():
    compare_with_dump(record("ls", "/bin/ls", "-l", HERE))
    compare_with_dump(record("perl", "/usr/bin/perl", "-e", "sub f { my $n = shift; $n ? f($n - 1) + 1 : eval { die } || 0 } print f(5)"))


@case
def small_buffers_and_hot_units():
    compare_with_dump(record("sh", "/bin/sh", "-c", "for i in 1 2 3; do echo $i; done; x=$(echo a; echo b)", GAIT_STRESS="hot,tinybuf"))


@case
def threads_and_processes():
    program = build("threads", HERE / "threads.cc", "-static-pie", compiler="g++")
    for knobs in ("", "hot,tinybuf"):
        trace = record("threads", program, GAIT_STRESS=knobs)
        compare_with_dump(trace)
        compare_with_dump(trace, "--threads")


if __name__ == "__main__":
    main()
