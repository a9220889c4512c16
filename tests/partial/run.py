#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A partial trace has the stepper's events, less those that were not selected: by function with all it calls, by function alone, by source
line, by module, by address.

    tests/partial/run.py [NAME]...     only the cases whose names contain one of these
    ALL=1 tests/partial/run.py         with every stress knob
"""
import json
import os
import re
import signal
import subprocess
import sys
import time
from bisect import bisect_left
from collections import defaultdict
from functools import cache
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from cases import GAIT, ROOT, analysis, build, case, main, require, use  # noqa: E402
from listing import listing  # noqa: E402

WORK = use("partial")
# Nothing that differs from run to run: see tests/oracle/compare.sh.
FIXED = ["env", "-i", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "setarch", "-R"]
SAME_STACK = 1 << 32
KNOBS = ["", "hot,tinybuf", "nolink,noahead", "strict,cold", "single,gates", "older,blocks", "tinycache", "flush,tinybuf"]
ALL = os.environ.get("ALL")


# -- What should be in a trace ------------------------------------------------------------------------------------------

def stress(knobs):
    """Always as long, so that the program's stack is where it was."""
    return "GAIT_STRESS=" + f"{knobs},digest".ljust(40, ",")


class Run:
    """What the stepper saw: for each instruction its pc, the stack pointer before it, and where its lines begin among all, which are as
    gait dump --format=lackey prints them."""

    def __init__(self, text):
        self.pc, self.rsp, self.first, self.lines, self.at = [], [], [], [], defaultdict(list)
        for line in text.splitlines():
            if line[0] == "I":
                pc = int(line[3:].split(",")[0], 16)
                self.at[pc].append(len(self.pc))
                self.pc.append(pc)
                self.rsp.append(None)
                self.first.append(len(self.lines))
            if line[:2] == " R":
                self.rsp[-1] = int(line[3:].split(",")[0], 16)
            elif line[:2] in ("I ", " L", " S", " M"):
                self.lines.append(line)
        self.first.append(len(self.lines))

    def indices(self, pcs):
        return sorted(i for pc in pcs for i in self.at[pc])


@cache
def stepped(program):
    events = WORK / "stepper.events"
    subprocess.run(["make", "-s", "-C", ROOT, "build/oracle/stepper"], check=True)
    subprocess.run([*FIXED, "env", stress(""), ROOT / "build/oracle/stepper", "--stack", "-o", events, "--", program],
                   stdout=subprocess.DEVNULL, check=True)
    return Run(events.read_text())


def with_all_they_call(ran, heads, code):
    """From each head up to the return that finds the stack as it was there; or to a return or a jump that is above that."""
    goes = {pc: code[pc].goes() for pc in ran.at if pc in code}
    ends = ran.indices(pc for pc, kind in goes.items() if kind in ("ret", "ijump"))
    begun, lines = 0, []
    for head in ran.indices(heads):
        if head < begun:
            continue
        begun = len(ran.pc)
        for i in ends[bisect_left(ends, head):]:
            above = ran.rsp[i] - ran.rsp[head] - (8 if goes[ran.pc[i]] == "ijump" else 0)
            if 0 <= above < SAME_STACK:
                begun = i + 1
                break
        lines += ran.lines[ran.first[head]:ran.first[begun]]
    return lines


def in_places(ran, places):
    chosen = ran.indices(pc for pc in ran.at if any(start <= pc < end for start, end in places))
    return [line for i in chosen for line in ran.lines[ran.first[i]:ran.first[i + 1]]]


def recorded(program, knobs, *options):
    trace = WORK / "partial.gait"
    subprocess.run([*FIXED, "env", stress(knobs), GAIT, "record", *options, "-o", trace, "--", *program],
                   stdout=subprocess.DEVNULL, check=True)
    subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)
    return trace


def lines_of(trace):
    return subprocess.run([GAIT, "dump", "--format=lackey", trace], capture_output=True, text=True, check=True).stdout.splitlines()


def require_same(found, expected, what):
    for i, (x, y) in enumerate(zip(found, expected)):
        require(x == y, f"{what}: event {i} is {x!r}, and should be {y!r}")
    require(len(found) == len(expected), f"{what}: {len(found)} events, and should be {len(expected)}")


# -- Programs -----------------------------------------------------------------------------------------------------------

def symbols(program):
    """name: (address, size) of all functions with a size."""
    out = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {r[3]: (int(r[0], 16), int(r[1], 16)) for r in rows if len(r) == 4 and r[2] in "tTwW"}


@cache
def hard():
    """Frames that end in every way there is."""
    return build("hard", ROOT / "tests/calls/hard.cc", "-g", "-static", "-no-pie", compiler="g++")


OWN = ["work", "fib", "is_odd", "last", "middle", "with_tail_calls", "through_pointers", "by_value", "sort_some", "odd_code", "pops_its_argument",
       "far_branch", "hops", "hops_out", "copies", "fills", "faults_below", "dig"]


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def functions_with_all_they_call():
    program = hard()
    code, names = listing(program), symbols(program)
    ran = stepped(program)
    for knobs in KNOBS if ALL else KNOBS[:2]:
        for name in OWN if ALL else ["dig", "middle", "hops"] if knobs else ["work", "fib", "with_tail_calls", "odd_code", "faults_below", "dig"]:
            expected = with_all_they_call(ran, {names[name][0]}, code)
            require(expected, f"{name} does not run")
            require_same(lines_of(recorded([program], knobs, "--function", name)), expected, f"{knobs} {name}")


@case
def several_functions_at_once():
    program = hard()
    code, names = listing(program), symbols(program)
    ran = stepped(program)
    heads = {at for name, (at, _) in names.items() if re.fullmatch("is_.*|fib|sort_some", name)}
    trace = recorded([program], "hot,tinybuf", "--function", "is_*", "--function=fib", "--function=sort_some")
    require_same(lines_of(trace), with_all_they_call(ran, heads, code), "is_*, fib, sort_some")


@case
def functions_alone():
    program = hard()
    names = symbols(program)
    ran = stepped(program)
    for knobs in KNOBS if ALL else KNOBS[:2]:
        for name in OWN if ALL else ["dig", "is_odd", "work"] if knobs else ["fib", "by_value", "hops", "dig"]:
            start, size = names[name]
            trace = recorded([program], knobs, "--only", "--function", name)
            require_same(lines_of(trace), in_places(ran, [(start, start + size)]), f"{knobs} {name}")


@case
def ranges_of_addresses():
    program = hard()
    names = symbols(program)
    ran = stepped(program)
    start, size = names["dig"]
    places = [(start + 5, start + size // 2), (names["work"][0], names["work"][0] + 9)]
    trace = recorded([program], "", *(f"--range={a:x}-{b:x}" for a, b in places))
    require_same(lines_of(trace), in_places(ran, places), "ranges")


@case
def source_lines():
    program = hard()
    source = (ROOT / "tests/calls/hard.cc").read_text().splitlines()
    first = next(i for i, line in enumerate(source, 1) if line.startswith("OWN void sort_some"))
    # An independent reader of the line table.
    rows = []
    for line in subprocess.run(["objdump", "--dwarf=decodedline", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) >= 3 and re.fullmatch("0x[0-9a-f]+", words[2]):
            rows.append((words[0], words[1], int(words[2], 16)))
    places = [(a, b) for (file, number, a), (_, _, b) in zip(rows, rows[1:])
              if file == "hard.cc" and number != "-" and first <= int(number) <= first + 7 and b > a]
    require(places, "objdump finds no lines")
    ran = stepped(program)
    trace = recorded([program], "", f"--source=calls/hard.cc:{first}-{first + 7}")
    require_same(lines_of(trace), in_places(ran, places), "lines")


@case
def a_module():
    program = build("modules", HERE / "work.c", "-g")
    whole = recorded_whole([program])
    libc = [(start, end) for start, end, path in code_of_modules(whole) if "libc.so" in path]
    require(libc, "there is no libc")
    expected = [line for pc, events in instructions(lines_of(whole)) if any(a <= pc < b for a, b in libc) for line in events]
    trace = recorded([program], "", "--module=libc.so*")
    require_same(lines_of(trace), expected, "libc")


def recorded_whole(program):
    trace = WORK / "whole.gait"
    subprocess.run([*FIXED, "env", stress(""), GAIT, "record", "-o", trace, "--", *program], stdout=subprocess.DEVNULL, check=True)
    return trace


def instructions(lines):
    ran = []
    for line in lines:
        if line.startswith("I"):
            ran.append((int(line[3:].split(",")[0], 16), [line]))
        else:
            ran[-1][1].append(line)
    return ran


def code_of_modules(trace):
    sys.path[:0] = [str(ROOT / "tests/oracle")]
    import decode
    with open(trace, "rb") as f:
        for kind, _, b in decode.chunks(f):
            if kind == decode.MODULES:
                for _ in range(*b.ints("I")):
                    start, end, _ = b.ints("3Q")
                    yield start, end, b.texts(2)[1].decode()


@case
def nothing_is_changed_for_the_program():
    """Registers, flags, memory and signals of a program that checks itself, whatever is selected."""
    names = ["faults_and_handlers", "registers_hold_under_profiling", "fork_from_threads", "setjmp_out_of_handlers"]
    for name in names + ["hot_paths_keep_their_word", "threads_signal_each_other", "code_is_replaced", "exec_chain"] * bool(ALL):
        program = build(name, ROOT / f"tests/programs/{name}.c", "-g")
        native = subprocess.run([program], capture_output=True, timeout=60)
        for options in (["--function=main"], ["--function=main", "--only"], ["--module=libc.so*"], ["--module", name], ["--max-refs=5000"], ["--after=5ms", "--for=10ms"]):
            trace = WORK / "same.gait"
            out = subprocess.run([GAIT, "record", *options, "-o", trace, "--", program], capture_output=True, timeout=120)
            require((out.returncode, out.stdout) == (native.returncode, native.stdout), f"{name} {options}: {out.returncode} {out.stderr}")
            subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)


@case
def threads_that_a_function_makes():
    """They belong to it: all they do is recorded. Other threads are not."""
    program = build("threads", HERE / "threads.c", "-g", "-static", "-no-pie")
    names = symbols(program)
    trace = recorded([program], "", "--function=makes_threads")
    count = {}
    for pc, _ in instructions(lines_of(trace)):
        count[pc] = count.get(pc, 0) + 1
    calls = {name: count.get(names[name][0], 0) for name in ("inside", "outside", "makes_threads", "main")}
    require(calls == {"inside": 30, "outside": 0, "makes_threads": 1, "main": 0}, f"{calls}")


@case
def a_window_in_time():
    program = build("work", HERE / "work.c", "-g", "-static", "-no-pie")
    trace = WORK / "window.gait"
    began = time.monotonic()
    subprocess.run([GAIT, "record", "--after=200ms", "--for=600ms", "-o", trace, "--", program, "1200"], stdout=subprocess.DEVNULL, check=True)
    require(time.monotonic() - began > 1.15, "it did not run to its end")
    out = subprocess.run([GAIT, "dump", trace], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
    guest = [line.split() for line in out if " resumed " in line]
    require(len(guest) == 1, f"{len(guest)} times recording began")
    ticks = [int(line.split()[-1], 16) for line in out if re.search(r" (state|syscall|resumed) ", line)]
    require(any(" exec " in line for line in out), "nothing was recorded")
    first = next(line for line in out if not re.search(r" (state|stack) ", line))
    require(" resumed " in first, "it does not begin with the window")
    require(ticks == sorted(ticks), "time goes back")


@case
def as_many_references_as_asked_for():
    program = build("work", HERE / "work.c", "-g", "-static", "-no-pie")
    for wanted in (1000, 100000):
        trace = recorded([program, "1500"], "tinybuf", f"--max-refs={wanted}")
        n = sum(not line.startswith("I") for line in lines_of(trace))
        require(n >= wanted, f"{n} references instead of {wanted}")
        whole = recorded([program, "1500"], "tinybuf")
        require(n < sum(not line.startswith("I") for line in lines_of(whole)), "recording did not end")


def marks(*options, knobs=""):
    """A trace of marks.c: how often its functions' heads ran, and the marks."""
    program = build("marks", HERE / "marks.c", "-g", "-static", "-no-pie", f"-I{ROOT}/include")
    trace = recorded([program], knobs, *options)
    out = subprocess.run([GAIT, "dump", trace], capture_output=True, text=True, check=True).stdout.splitlines()
    names = symbols(program)
    ran = [int(line.split()[1], 16) for line in out if " exec " in line]
    numbers = [int(line.split()[3], 16) for line in out if " mark " in line]
    return {name: ran.count(names[name][0]) for name in ("wanted", "unwanted")}, {n: numbers.count(n) for n in set(numbers)}


@case
def marks_begin_and_end_it():
    for knobs in KNOBS if ALL else KNOBS[:3]:
        ran, numbers = marks("--marks", knobs=knobs)
        require(ran == {"wanted": 50, "unwanted": 0} and numbers == {7: 5000}, f"{knobs}: {ran} {numbers}")


@case
def marks_are_in_every_trace():
    for knobs in ("", "hot,tinybuf"):
        ran, numbers = marks(knobs=knobs)
        require(ran == {"wanted": 50, "unwanted": 50} and numbers == {7: 5000, 9: 10000, 0xfffe: 50, 0xffff: 50}, f"{knobs}: {ran} {numbers}")


@case
def a_function_triggers_it():
    for count, knobs in ((1, ""), (20, "hot,tinybuf"), (50, "nolink")):
        ran, numbers = marks("--trigger=wanted", f"--count={count}", knobs=knobs)
        left = 51 - count
        require(ran == {"wanted": left, "unwanted": left - 1} and numbers[7] == 100 * left, f"{count} {knobs}: {ran} {numbers}")


@case
def calls_begin_at_what_was_selected():
    program = hard()
    tree = analysis("calls", "--min", "0", recorded([program], "", "--function=middle"))["tree"]
    found = sum(row["calls"] for row in tree if row["function"] == "middle")
    whole = analysis("calls", "--min", "0", recorded([program], ""))["tree"]
    expected = sum(row["calls"] for row in whole if row["function"] == "middle")
    require(found == expected > 1, f"middle was called {expected} times, and is said to be {found}")
    outer = [row for row in tree if row["depth"] == 1]
    require([row["function"] for row in outer] == ["[not recorded]"], f"{outer}")
    require({row["function"] for row in tree if row["depth"] == 2} == {"middle", "last", "work"}, "others than middle, and what ends it by jumps, were not selected")


@case
def calls_of_several_functions_stand_side_by_side():
    """Each entry is a call from what was not recorded, however deep the stack was before."""
    program = hard()
    tree = analysis("calls", "--min", "0", recorded([program], "hot,tinybuf", "--function=fib", "--function=work", "--function=is_*"))["tree"]
    ran = stepped(program)
    names = symbols(program)
    calls = {name: len(ran.at[names[name][0]]) for name in ("fib", "work", "is_odd", "is_even")}
    found = {name: sum(row["calls"] for row in tree if row["function"] == name) for name in calls}
    require(found["fib"] == calls["fib"], f"{found} instead of {calls}")
    first = {row["function"] for row in tree if row["depth"] == 2}
    require({"fib", "work", "is_even"} <= first and all(not name.startswith("main") for name in first), f"{first}")
    path = []
    for row in tree:
        path[row["depth"]:] = [row["function"]]
        require(not (row["function"] == "work" and "fib" in path), "work seems to be called by fib")


@case
def analyses_of_what_is_selected():
    """Live, with options of their own: what they count is what the trace has."""
    program = hard()
    trace = recorded([program], "", "--function=sort_some")
    stored = analysis("mix", trace)
    out = subprocess.run([*FIXED, GAIT, "mix", "--json", "--top", "1000000000", "--function=sort_some", "--", program],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    require(json.loads(out.splitlines()[-1]) == stored, "live is not as stored")


@case
def attached_to_a_process():
    program = build("work", HERE / "work.c", "-g", "-static", "-no-pie")
    start, size = symbols(program)["second"]
    p = subprocess.Popen([program, "20000"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.2)
        trace = WORK / "attached.gait"
        subprocess.run([GAIT, "attach", "-p", str(p.pid), "--function=second", "--only", "--for=200ms", "-o", trace], check=True)
        subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)
        ran = [pc for pc, _ in instructions(lines_of(trace))]
        require(ran and all(start <= pc < start + size for pc in ran), f"{len(ran)} instructions, and others than those of second")
        out = subprocess.run([GAIT, "attach", "-p", str(p.pid), "--function=secnd", "-o", trace], capture_output=True, text=True)
        require(out.returncode == 1 and "did you mean second" in out.stderr, f"{out.returncode} {out.stderr}")
        out = subprocess.run([GAIT, "attach", "-p", str(p.pid), "--max-refs=10000", "-o", trace], capture_output=True, text=True, timeout=20)
        require(out.returncode == 0, out.stderr)
        require(p.poll() is None, "the process has ended")
    finally:
        os.kill(p.pid, signal.SIGTERM)
        p.wait()


@case
def what_makes_no_sense():
    program = hard()
    for status, words, options in (
            (1, "did you mean middle", ["--function=midle"]),
            (1, "no such code", ["--module=nowhere"]),
            (1, "compile with -g", ["--source=nowhere.c"]),
            (2, "FILE:LINE", ["--source=hard.cc:0"]),
            (2, "FILE:LINE", ["--source=hard.cc:9-3"]),
            (2, "hexadecimal", ["--range=100-50"]),
            (2, "hexadecimal", ["--range=main"]),
            (2, "--only is for --function", ["--only"]),
            (2, "with --only, both", ["--function=main", "--module=libc*"]),
            (2, "nothing is recorded", ["--events=none", "--function=main"]),
            (2, "wants a time", ["--for=soon"]),
            (2, "wants a time", ["--after=-1"]),
            (2, "record nothing", ["--max-refs=0"]),
            (1, "did you mean middle", ["--trigger=midle"]),
            (2, "--count is for --trigger", ["--count=3"]),
            (2, "choose one", ["--trigger=main", "--after=1s"]),
            (2, "leaves no time", ["--budget=0%/1s"]),
            (2, "wants a time", ["--budget=0/1s"]),
            (2, "all of the time", ["--budget=101%/1s"]),
            (2, "all of the time", ["--budget=2s/1s"]),
            (2, "too short", ["--budget=10%/0.5ms"]),
            (2, "10%/1s", ["--budget=10%"]),
            (2, "wants a time", ["--budget=ten/1s"]),
            (2, "there is no --budget", ["--budget-scope=process"]),
            (2, "timer, tv, tvc, tc", ["--budget=10%/1s", "--budget-policy=now"])):
        out = subprocess.run([GAIT, "record", *options, "-o", WORK / "none.gait", "--", program], capture_output=True, text=True)
        require(out.returncode == status and words in out.stderr, f"{options}: {out.returncode} {out.stderr}")


main()
