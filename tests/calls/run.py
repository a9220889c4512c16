#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The tree that gait calls prints is the one that plain.py derives from lists of events: the stepper's for one thread, those of gait dump
for several.

    tests/calls/run.py [NAME]...     only the cases whose names contain one of these
"""
import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "oracle"), str(HERE.parent / "cache")]
import decode  # noqa: E402
import plain  # noqa: E402
from model import Model  # noqa: E402
from cases import GAIT, ROOT, analysis, build, case, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("calls")
ALL = ("insns", "reads", "writes")
MISSES = ("i1_misses", "d1_misses", "ll_misses")
COUNTS = ("calls", *(f"self_{x}" for x in ALL))
# Nothing that differs from run to run: see tests/oracle/compare.sh.
FIXED = ["env", "-i", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "PERL_HASH_SEED=0", "setarch", "-R"]


# -- What there is to know of a trace -----------------------------------------------------------------------------------

def code_of(trace):
    """What each instruction does, and where modules are: (start, end, offset, path)."""
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
            code[insn.pc] = plain.decode(bytes(table["Code"][insn.bytes:insn.bytes + insn.len]))
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
            have = sums.setdefault(path[:k], [0] * len(n))
            for i in range(len(n)):
                have[i] += n[i]
    return sums


def functions_of(nodes, sums):
    flat, width = {}, len(sums[()])
    for path, n in [(p, nodes.get(p, [0] * (width + 1))) for p in sums if p]:
        row = flat.setdefault(path[-1], [0] * (2 * width + 1))
        for i in range(width + 1):
            row[i] += n[i]
        if path[-1] not in path[:-1]:
            for i in range(width):
                row[width + 1 + i] += sums[path][i]
    return {f: tuple(n) for f, n in flat.items() if n[0] or n[1]}


def compare(result, nodes, where, misses=False):
    every = ALL + (MISSES if misses else ())
    counts = ("calls", *(f"self_{x}" for x in every))
    nodes = {path: n[:len(counts)] for path, n in nodes.items()}
    rows, sums = paths_of(result["tree"]), with_all(nodes)
    for path in [*rows, *sums]:
        require(path in rows and path in sums, f"{where}: only one of both has {path} {rows.get(path)} {sums.get(path)}")
        ours, theirs = tuple(rows[path][k] for k in counts), tuple(nodes.get(path, [0] * len(counts)))
        require(ours == theirs, f"{where}: {path} has {ours}, plainly {theirs}")
        require([rows[path][k] for k in every] == sums[path], f"{where}: {path} has {[rows[path][k] for k in every]} in all, plainly {sums[path]}")
    ours = {(r["function"], r["module"]): tuple(r[k] for k in counts + every) for r in result["functions"]}
    theirs = functions_of(nodes, sums)
    for f in {*ours, *theirs}:
        require(ours.get(f) == theirs.get(f), f"{where}: the function {f} has {ours.get(f)}, plainly {theirs.get(f)}")
    total = result["total"]
    require([total[k] for k in every] == sums[()], f"{where}: in all {total}, plainly {sums[()]}")
    require(total["contexts"] == len(sums) - 1 and total["depth"] == max(map(len, sums)), f"{where}: {total}")


def calls(trace, *options):
    return analysis("calls", "--min", "0", *options, trace)


def compare_trace(trace, threads_of, lines, apart=False):
    code, modules = code_of(trace)
    threads = threads_of(lines, code)
    functions = plain.Functions(names_of(trace), modules, threads, code)
    compare(calls(trace), plain.derive(threads, functions, code), trace.name)
    if apart:
        compare(calls(trace, "--threads"), plain.derive(threads, functions, code, True), f"{trace.name}, thread by thread")


def compare_with_stepper(name, program, *knobs):
    for k in knobs:
        compare_trace(recorded(name, program, k), plain.threads_of_stepper, stepped(program, k))


def compare_with_dump(trace, apart=False):
    compare_trace(trace, plain.threads_of_dump, dump_of(trace), apart)
    counts = json.loads(subprocess.run([GAIT, "info", "--json", trace], capture_output=True, text=True, check=True).stdout)
    total = calls(trace)["total"]
    info = (counts["instructions"], counts["loads"] + counts["modifies"], counts["stores"])
    require(tuple(total[k] for k in ALL) == info, f"{trace.name}: {total}, gait info says {info}")


def compare_misses(trace, text, *options):
    """With misses, of described caches."""
    lines = dump_of(trace)
    code, modules = code_of(trace)
    threads = plain.threads_of_dump(lines, code)
    functions = plain.Functions(names_of(trace), modules, threads, code)
    path = WORK / "caches.txt"
    path.write_text(text)
    nodes = plain.derive(threads, functions, code, misses=plain.misses_of_dump(lines, Model(text)))
    require(all(sum(n[k] for n in nodes.values()) > 20 for k in (4, 5, 6)), f"{trace.name}, {text!r}: hardly any misses")
    for jobs in "14":
        compare(calls(trace, "--config", path, "-j", jobs, *options), nodes, f"{trace.name}, {text!r}, -j {jobs}", misses=True)


# -- Cases --------------------------------------------------------------------------------------------------------------

def hard():
    return build("hard", HERE / "hard.cc", "-static-pie", compiler="g++")


@case
def frames_end_in_every_way():
    compare_with_stepper("hard", [hard()], "", "hot,tinybuf", "strict")


@case
def frames_end_in_every_way_while_hot():
    compare_with_stepper("hot", [hard(), "often"], "hot,tinybuf")


def by_names(result):
    """The rows of a tree by the names on their paths."""
    return {tuple(f for f, _ in path): row for path, row in paths_of(result["tree"]).items()}


def below(rows, *names):
    """The one row whose path ends so."""
    found = [row for path, row in rows.items() if path[-len(names):] == names]
    require(len(found) == 1, f"{len(found)} contexts are called {names}")
    return found[0]


@case
def what_a_reader_expects():
    """Known from the source alone, without any definition of frames."""
    result = calls(recorded("hard", [hard()], ""))
    rows = by_names(result)
    flat = {row["function"]: row for row in result["functions"]}
    require(flat["fib"]["calls"] == 109 and flat["fib"]["insns"] == flat["fib"]["self_insns"], f"fib(9): {flat['fib']}")
    require((flat["is_even"]["calls"], flat["is_odd"]["calls"]) == (22, 21), "is_even(21) and is_even(20) take turns with is_odd")
    require(below(rows, "main", "with_tail_calls", "last", "work")["calls"] == 1, "a tail call takes its caller's place")
    require(below(rows, "main", "with_tail_calls", "work")["calls"] == 2, "... and so does the one that it ends with")
    require(below(rows, "main", "is_odd")["calls"] == 21, "mutual tail calls do not nest")
    require(("main", "odd_code", "pops_its_argument") in {p[-3:] for p in rows}, "odd_code calls on")
    require(below(rows, "main", "far_branch", "far_branch", "far_branch", "after_the_gap")["calls"] == 1, "a conditional tail call")
    require(below(rows, "main", "jumps_out")["self_insns"] > 2 * 20 * 3, "what follows a longjmp is its catcher's")
    require(below(rows, "main", "catches", "work")["calls"] == 1, "exceptions end frames")
    handled = [p for p in rows if p[-2:] == ("[signal 10]", "on_signal")]
    require(len(handled) == 1 and "is_interrupted" in handled[0] and rows[handled[0]]["calls"] == 3, f"the handler interrupts: {handled}")
    require([p for p in rows if p[-2:] == ("[signal 12]", "on_signal") and "[signal 10]" in p], "one handler interrupts the other")
    require(below(rows, "signals", "jumps_out_of_handlers", "work")["calls"] == 2, "jumps out of handlers end their frames")
    require(below(rows, "signals", "jumps_out_of_handlers", "[signal 11]", "on_jump")["calls"] == 2, "a fault in the function itself")
    require(below(rows, "resume", "routine_main", "yields")["calls"] == 4, "a routine goes on where it was left")
    require(below(rows, "resume", "yields")["calls"] == 2, "... up to its tail call")
    require(below(rows, "calls_elsewhere", "call_on", "with_tail_calls")["calls"] == 14, "a call on another stack is its caller's")
    require(below(rows, "far_main", "other_way", "has_room_for_more")["calls"] == 1, "... and so is one from a huge frame")
    require(below(rows, "main", *["has_room_for_much"] * 4)["calls"] == 1, "large frames are frames")


@case
def ordinary_programs():
    compare_with_dump(record("ls", "/bin/ls", HERE))
    compare_with_dump(record("perl", "/usr/bin/perl", "-e", "sub f { my $n = shift; $n ? f($n - 1) + 1 : eval { die } || 0 } print f(5)"))


@case
def small_buffers_and_hot_units():
    compare_with_dump(record("sh", "/bin/sh", "-c", "for i in 1 2 3; do echo $i; done; x=$(echo a; echo b)", GAIT_STRESS="hot,tinybuf"))


@case
def threads_and_processes():
    program = build("threads", HERE / "threads.cc", "-static-pie", compiler="g++")
    for knobs in ("", "hot,tinybuf"):
        compare_with_dump(record("threads", program, GAIT_STRESS=knobs), apart=True)


@case
def any_number_of_jobs():
    trace = record("threads", build("threads", HERE / "threads.cc", "-static-pie", compiler="g++"), GAIT_STRESS="tinybuf")
    results = {subprocess.run([GAIT, "calls", "--json", "--stacks", "--min", "0", "-j", j, trace], capture_output=True, check=True).stdout
               for j in "1248"}
    require(len(results) == 1, "the result depends on the number of jobs")


@case
def live_is_as_stored():
    program = build("hard_static", HERE / "hard.cc", "-static", "-no-pie", compiler="g++")
    for knobs, jobs in (("", "2"), ("hot,tinybuf", "1"), ("lazy,tinybuf", "8")):
        live, stored = live_and_stored(program, ["calls", "--min", "0", "-j", jobs], knobs)
        require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def stacks_and_least():
    trace = recorded("hard", [hard()], "")
    rows = calls(trace, "--stacks")["tree"]
    for path, row in paths_of(rows).items():
        require(row["stack"] == ";".join(f for f, _ in path), f"{path}: {row['stack']}")
    require(sum(row["self_insns"] for row in rows) == rows[0]["insns"], "what is on the stacks is all there is")
    few = analysis("calls", "--min", "2.5", trace)["tree"]
    require(few == [{k: v for k, v in row.items() if k != "stack"} for row in rows if row["percent"] >= 2.5], "--min leaves out the small ones")
    text = subprocess.run([GAIT, "calls", "--min", "20", trace], capture_output=True, text=True, check=True).stdout
    require("      __libc_start_main  " in text, "a row is as far to the right as it is deep")
    for given in ("x", "-1", "101", "nan", ""):
        run = subprocess.run([GAIT, "calls", f"--min={given}", trace], capture_output=True, text=True)
        require(run.returncode == 2 and "percent" in run.stderr, f"--min={given}: status {run.returncode}, {run.stderr}")


@case
def deep_recursion():
    """Nothing in gait may recurse as deep as the program."""
    source = WORK / "deep.c"
    source.write_text("""int sink; __attribute__((noinline, noclone)) int deep(int n) { int m = n ? deep(n - 1) : 0; sink += m; return m + 1; }
                      int main() { return deep(99999) != 100000; }""")
    result = calls(record("deep", build("deep", source, "-static", "-fno-optimize-sibling-calls")), "--stacks")
    flat = {row["function"]: row for row in result["functions"]}
    require(flat["deep"]["calls"] == 100000 and result["total"]["depth"] > 100000, f"{flat['deep']}")
    require(flat["deep"]["insns"] == flat["deep"]["self_insns"], "recursion is counted once")


@case
def misses_by_context():
    """Caches so small that both sides of most calls miss."""
    small = "L1I size=1K ways=2\nL1D size=2K ways=4 {}\nL2 size=8K ways=8 {}"
    for k in ("", "hot,tinybuf"):
        trace = recorded("hard", [hard()], k)
        compare_misses(trace, small.format("", ""))
        compare_misses(trace, small.format("policy=rrip prefetch=stride", "inclusive"))
    compare_misses(record("ls", "/bin/ls", HERE), "L1I size=4K ways=4 write=ignore\nL1D size=4K ways=4 line=32 write=ignore\nL2 size=32K ways=8 write=ignore")
    copies = build("copies", HERE / "copies.c", "-O2", "-static", "-no-pie")
    for k in ("", "hot,tinybuf"):
        compare_misses(recorded("copies", [copies], k), small.format("policy=fifo", ""))
    threads = build("walk", HERE.parent / "cache/walk.c", "-O1", "-nostdlib", "-static", "-fno-stack-protector", "-DTHREADS=12", "-DROUNDS=4")
    private = "cores 3\nL1I size=512 ways=1 private\nL1D size=2K ways=8 private {}\nL2 size=8K ways=4 {}"
    compare_misses(record("walk", threads, GAIT_STRESS="tinybuf"), private.format("write=through allocate=no", "inclusive"))
    compare_misses(record("walk", threads, GAIT_STRESS="hot"), private.format("", ""), "--misses")


@case
def misses_live_and_merged():
    program = build("hard_static", HERE / "hard.cc", "-static", "-no-pie", compiler="g++")
    shape = ["--I1=1024,2,64", "--D1=2048,4,32", "--LL=8192,8,64"]
    for knobs, jobs in (("", "2"), ("hot,tinybuf", "1"), ("lazy,tinybuf", "8")):
        live, stored = live_and_stored(program, ["calls", "--min", "0", "-j", jobs, *shape], knobs)
        require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")
    trace = record("merged", program)
    one, two = calls(trace, *shape), analysis("calls", "--min", "0", "--merge", *shape, trace, trace)
    for key in MISSES:
        # The second trace finds caches that are full of the first one's lines: of another process, but they are given up in another order.
        require(one["total"][key] > 100 and abs(two["total"][key] - 2 * one["total"][key]) < 200, f"{key}: {one['total']}, merged {two['total']}")
    whole = analysis("cache", *shape, trace)["total"]
    require(one["total"]["i1_misses"] == whole["I1mr"] and one["total"]["d1_misses"] == whole["D1mr"] + whole["D1mw"], f"{one['total']}, {whole}")
    require(one["total"]["ll_misses"] == whole["ILmr"] + whole["DLmr"] + whole["DLmw"], f"{one['total']}, {whole}")


@case
def control_flow_alone():
    """Without references the stack pointer is not known: all is one context, and nothing is lost."""
    trace = WORK / "control.gait"
    subprocess.run([GAIT, "record", "--events=control", "-o", trace, "--", "/bin/true"], check=True)
    counts = json.loads(subprocess.run([GAIT, "info", "--json", trace], capture_output=True, text=True, check=True).stdout)
    total = calls(trace)["total"]
    require(total["insns"] == counts["instructions"] and total["contexts"] == 1, f"{total}")


@case
def with_another_analysis():
    trace = record("true", "/bin/true")
    both = json.loads(subprocess.run([GAIT, "analyze", "-a", "cache,calls", "--set", "calls.min=0", "--top", "1000000", "--json", trace],
                                     capture_output=True, text=True, check=True).stdout)
    alone = calls(trace)
    require(all(both[f"calls.{name}"] == table for name, table in alone.items()), "another analysis changes the tree")
    require(both["cache.total"]["Ir"] == alone["total"]["insns"], "both saw the same")


@case
def several_traces_in_one_tree():
    """Of runs whose addresses differ, whole and partial: sums by names, and what of the first tree the others have."""
    program = build("merged", HERE / "hard.cc", "-g", compiler="g++")
    traces = []
    for i, options in enumerate(([], ["--function=middle", "--function=fib"], ["--only", "--function=work"], [], ["--module=libc.so*"])):
        traces.append(WORK / f"merged{i}.gait")
        subprocess.run([GAIT, "record", *options, "-o", traces[i], "--", program], stdout=subprocess.DEVNULL, check=True)
    single = [analysis("calls", "--min", "0", trace) for trace in traces]
    trees = [paths_of(x["tree"]) for x in single]
    for chosen in ([0, 1, 2, 4, 3], [3, 2], [1, 0], [2]):
        found = analysis("calls", "--merge", "--min", "0", *(traces[i] for i in chosen))
        tree = paths_of(found["tree"])
        require(set(tree) == set().union(*(trees[i] for i in chosen)), f"{chosen}: other contexts than in the single trees")
        for path, row in tree.items():
            for key in COUNTS + ALL:
                expected = sum(trees[i][path][key] for i in chosen if path in trees[i])
                require(row[key] == expected, f"{chosen}, {path}: {key} is {row[key]} instead of {expected}")
        for key in ("insns", "calls", "threads"):
            require(found["total"][key] == sum(single[i]["total"][key] for i in chosen), f"{chosen}: {key} in all")
        require_coverage(found["coverage"], [trees[i] for i in chosen], f"{chosen}")


def require_coverage(rows, trees, what):
    """The root is in all of them, and does not count."""
    contexts = [{path for path in tree if path} for tree in trees]
    first, seen = contexts[0], set()
    require(len(rows) == len(trees) - 1, f"{what}: {len(rows)} rows of coverage")
    for n, (row, more) in enumerate(zip(rows, contexts[1:]), 1):
        seen |= more
        part, whole = (sum(trees[0][path]["self_insns"] for path in paths) for paths in (first & seen, first))
        expected = {"traces": n, "seen": len(first & seen), "contexts": len(first), "new": len(seen - first),
                    "percent": 100 * len(first & seen) / len(first), "percent_insns": 100 * part / whole}
        for key, x in expected.items():
            require(abs(row[key] - x) < 1e-9, f"{what}, row {n}: {key} is {row[key]} instead of {x}")


def in_linkage_table(function, module):
    """Is what has no name, but an offset in its file, in one of the file's procedure linkage tables?"""
    return function.startswith("0x") and any(a <= int(function, 16) < a + size for a, size in linkage_tables(module))


@functools.cache
def linkage_tables(module):
    sections = subprocess.run(["readelf", "-SW", module], capture_output=True, text=True, check=True).stdout
    return [(int(a, 16), int(size, 16)) for a, size in re.findall(r" \.plt\S*\s+PROGBITS\s+\w+ (\w+) (\w+)", sections)]


@case
def callers_behind_gaps():
    """Who called what is recorded behind a gap: with a budget there is no context that is not in the tree of a whole run, and none whose callers are not known."""
    for name, *options in (["plain", "-O2", "-g"], ["pointers", "-O1", "-fno-omit-frame-pointer"], ["stripped", "-O2", "-s"], ["static", "-O2", "-static", "-no-pie"]):
        program = build(f"gaps_{name}", HERE / "gaps.c", "-pthread", "-Wl,-z,now", *options)
        whole, part = WORK / "gaps_whole.gait", WORK / "gaps_part.gait"
        # Resolving a name is no call of the code that needs it, but its frames look so.
        environment = {**os.environ, "LD_BIND_NOW": "1"}
        subprocess.run([GAIT, "record", "-o", whole, "--", program, "2"], check=True, env=environment)
        expected = {path[1:] for path in paths_of(calls(whole)["tree"])}
        deep = 0
        for _ in range(3):  # where a batch of the reader ends in the middle of a stack is chance
            subprocess.run([GAIT, "record", "--budget=1ms/5ms", "-o", part, "--", program, "1000"], check=True, env=environment)
            tree = paths_of(calls(part)["tree"])
            # A gap may begin or end in an entry of a linkage table, which then does not lead anywhere, or comes from nowhere.
            strange = {path for path in tree if path[1:] not in expected and (path[1:-1] not in expected or not in_linkage_table(*path[-1]))}
            require(not strange, f"{name}: {len(strange)} of {len(tree)} contexts are new, as {min(strange, key=len, default=())}")
            deep = max(deep, *(len(path) for path in tree))
        require(deep > 20, f"{name}: nothing deep was seen, only {deep}")


@case
def several_traces_only_when_asked():
    trace = record("one", "/bin/true")
    for command in (["calls", trace, trace], ["mix", trace, trace], ["analyze", "-a", "calls,mix", "--set", "calls.merge", trace, trace]):
        out = subprocess.run([GAIT, *command], capture_output=True, text=True)
        require(out.returncode == 2 and "is one more" in out.stderr, f"{command}: {out.returncode} {out.stderr}")


if __name__ == "__main__":
    main()
