#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--novel records what the stepper saw, in stretches; each instruction as often as asked for, or as it ran; and little more.

    tests/novel/run.py [NAME]...     only the cases whose names contain one of these
    ALL=1 tests/novel/run.py         with every stress knob
"""
import json
import os
import subprocess
import sys
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from cases import GAIT, ROOT, build, case, main, require, use  # noqa: E402

WORK = use("novel")
# Nothing that differs from run to run: see tests/oracle/compare.sh.
FIXED = ["env", "-i", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0", "setarch", "-R"]
KNOBS = ["", "tinybuf,flush", "nolink,noahead", "strict,cold", "single,gates", "blocks", "tinycache", "lazy", "gates,slow"]
ALL = os.environ.get("ALL")
# So many familiar units are recorded behind a new one.
LINGER = 64
LETTER = {"exec": "I ", "load": " L", "store": " S", "modify": " M"}


def stress(knobs):
    """Always as long, so that the program's stack is where it was."""
    return "GAIT_STRESS=" + f"{knobs},digest".ljust(40, ",")


@cache
def stepped(program):
    """Each instruction that ran, as its lines in lackey's form."""
    events = WORK / "stepper.events"
    subprocess.run(["make", "-s", "-C", ROOT, "build/oracle/stepper"], check=True)
    subprocess.run([*FIXED, "env", stress(""), ROOT / "build/oracle/stepper", "-o", events, "--", program], stdout=subprocess.DEVNULL, check=True)
    ran = []
    for line in events.read_text().splitlines():
        if line[0] == "I":
            ran.append((line,))
        elif line[:2] in (" L", " S", " M"):
            ran[-1] += (line,)
    return ran


def recorded(program, knobs, *options):
    trace = WORK / "novel.gait"
    subprocess.run([*FIXED, "env", stress(knobs), GAIT, "record", *options, "-o", trace, "--", program], stdout=subprocess.DEVNULL, check=True)
    subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)
    return trace


def stretches_of(trace, *options):
    """What was recorded without a gap, each as a list of instructions."""
    out = subprocess.run([GAIT, "dump", *options, trace], capture_output=True, text=True, check=True).stdout
    found = []
    for line in out.splitlines()[1:]:
        words = line.split()
        if words[2] in ("resumed", "entered"):
            found.append([])
        elif words[2] == "exec":
            found[-1].append((f"I  {words[3]:>08},{words[4]}",))
        elif words[2] in LETTER:
            found[-1][-1] += (f"{LETTER[words[2]]} {words[3]:>08},{words[4]}",)
    return [s for s in found if s]


def require_stretches(ran, stretches, what):
    """One after the other; each where it is found first, which leaves the most for those behind it."""
    at = defaultdict(list)
    for i, insn in enumerate(ran):
        at[insn].append(i)
    begun = 0
    for n, s in enumerate(stretches):
        places = at[s[0]]
        for i in places[bisect_left(places, begun):]:
            if ran[i:i + len(s)] == s:
                begun = i + len(s)
                break
        else:
            require(False, f"{what}: stretch {n} of {len(stretches)}, {len(s)} instructions from {s[0][0]} on, did not run so, or not behind the one before")


def address(insn):
    return int(insn[0][3:].split(",")[0], 16)


@cache
def functions(program):
    """name: (address, size)"""
    out = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True, check=True).stdout
    return {w[3]: (int(w[0], 16), int(w[1], 16)) for w in map(str.split, out.splitlines()) if len(w) == 4 and w[2] in "tT"}


def faulting(program):
    """The code of functions that fault on purpose: it is counted when it is begun, and may fault before anything is recorded."""
    return {at for name, (start, size) in functions(program).items() if name.startswith("faults") for at in range(start, start + size)}


def require_counts(ran, stretches, times, what, but=frozenset()):
    """No instruction less often than asked for; the share of all that was recorded."""
    count = Counter(insn[0] for insn in ran)
    found = Counter(insn[0] for s in stretches for insn in s)
    for insn, n in count.items():
        require(found[insn] >= min(n, times) or address((insn,)) in but, f"{what}: {insn} ran {n} times and was recorded {found[insn]} times")
    return sum(found.values()) / sum(count.values())


def require_brief(ran, stretches, times, what):
    """Each call of spins may come behind something new; then it goes on as long as what is familiar does. Once, it is new itself."""
    start, size = functions(late())["spins"]
    calls = sum(address(insn) == start for insn in ran)
    most = calls * LINGER + times + LINGER
    found = Counter(address(insn) for s in stretches for insn in s if start <= address(insn) < start + size)
    require(max(found.values()) <= most, f"{what}: {max(found.values())} rounds of spins were recorded, and not {most} at most")


@cache
def late():
    return build("late", HERE / "late.c", "-g", "-static", "-no-pie")


@cache
def hard():
    return build("hard", ROOT / "tests/calls/hard.cc", "-g", "-static", "-no-pie", compiler="g++")


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def what_is_new_is_recorded_and_what_is_familiar_is_not():
    for program in (late(), hard()):
        ran = stepped(program)
        for knobs in KNOBS if ALL else KNOBS[:2]:
            for times in (1, 5, 255) if ALL else (5,) if not knobs else (2,):
                what = f"{program.name} {knobs} --novel={times}"
                stretches = stretches_of(recorded(program, knobs, f"--novel={times}"))
                require_stretches(ran, stretches, what)
                share = require_counts(ran, stretches, times, what, faulting(program))
                require(share < 0.9 or times == 255, f"{what}: {share:.0%} of all instructions were recorded")
                if program == late():
                    require_brief(ran, stretches, times, what)


@case
def within_a_budget():
    """Nothing is known of how often; but what is recorded did run so."""
    for program in (late(), hard()):
        for knobs, options in (("flip", []), ("", ["--budget=50%/2ms"]), ("tinybuf", ["--budget=50%/2ms", "--budget-scope=process"])):
            stretches = stretches_of(recorded(program, knobs, "--novel=3", *options))
            require_stretches(stepped(program), stretches, f"{program.name} {knobs} {options}")


@case
def without_references():
    ran = [insn[:1] for insn in stepped(late())]
    stretches = stretches_of(recorded(late(), "", "--novel=3", "--events=control"))
    require_stretches(ran, stretches, "control")
    require_counts(ran, stretches, 3, "control")


@case
def of_selected_code():
    """Other code is not recorded, however new."""
    program = late()
    start, size = functions(program)["branches"]
    inside = [insn for insn in stepped(program) if start <= address(insn) < start + size]
    stretches = stretches_of(recorded(program, "", "--novel=4", "--only", "--function=branches"))
    require_stretches(inside, stretches, "branches")
    require(require_counts(inside, stretches, 4, "branches") < 0.1, "it was recorded though it was familiar")


@case
def threads_and_processes():
    """Several threads may count less than they record, never more; each process sees for itself what is new."""
    program = build("threads", HERE / "threads.c", "-g", "-static", "-no-pie")
    heads = {name: start for name, (start, _) in functions(program).items()}
    for knobs in KNOBS if ALL else KNOBS[:2]:
        trace = recorded(program, knobs, "--novel=6")
        for process, runs in ((0, {"often": 80000, "sometimes": 40, "once": 1, "in_child": 0}), (1, {"often": 20000, "sometimes": 10, "once": 0, "in_child": 20000})):
            dump = subprocess.run([GAIT, "dump", "--process", str(process), trace], capture_output=True, text=True, check=True).stdout
            found = Counter(line.split()[1] for line in dump.splitlines() if " exec " in line)
            for name, n in runs.items():
                calls = found[f"{heads[name]:x}"]
                require(min(6, n) <= calls <= n, f"{knobs} {name} was called {n} times in process {process}, and recorded {calls} times")
                require(calls < n / 10 or n < 100, f"{knobs} {name} was recorded {calls} times in process {process}")


@case
def nothing_is_changed_for_the_program():
    """Registers, flags, memory and signals of a program that checks itself."""
    names = ["faults_and_handlers", "registers_hold_under_profiling", "fork_from_threads", "setjmp_out_of_handlers", "code_is_replaced", "threads_signal_each_other"]
    for name in names + ["hot_paths_keep_their_word", "exec_chain"] * bool(ALL):
        program = build(name, ROOT / f"tests/programs/{name}.c", "-g")
        native = subprocess.run([program], capture_output=True, timeout=60)
        for options in (["--novel=2"], ["--novel=1", "--budget=0.3ms/1ms"]):
            trace = WORK / "same.gait"
            out = subprocess.run([GAIT, "record", *options, "-o", trace, "--", program], capture_output=True, timeout=120)
            require((out.returncode, out.stdout) == (native.returncode, native.stdout), f"{name} {options}: {out.returncode} {out.stderr}")
            subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)


@case
def analyses_live():
    """What they count is what the trace has."""
    def result(*args):
        out = subprocess.run([*FIXED, "env", stress(""), GAIT, "mix", "--json", "--top", "1000000000", *args], stdout=subprocess.PIPE, text=True, check=True).stdout
        return json.loads(out.splitlines()[-1])
    require(result("--novel=3", "--", late()) == result(recorded(late(), "", "--novel=3")), "live is not as stored")


@case
def attached_to_a_process():
    program = build("work", ROOT / "tests/partial/work.c", "-g", "-static", "-no-pie")
    p = subprocess.Popen([program, "20000"], stdout=subprocess.DEVNULL)
    try:
        time.sleep(0.2)
        trace = WORK / "attached.gait"
        subprocess.run([GAIT, "attach", "-p", str(p.pid), "--novel=4", "--for=300ms", "-o", trace], check=True)
        subprocess.run([GAIT, "verify", trace], stdout=subprocess.DEVNULL, check=True)
        found = Counter(insn[0] for s in stretches_of(trace) for insn in s)
        require(found and max(found.values()) < 100000, f"an instruction was recorded {max(found.values(), default=0)} times")
        require(p.poll() is None, "the process has ended")
    finally:
        p.kill()
        p.wait()


@case
def what_makes_no_sense():
    for words, options in (("from 1 to 255", ["--novel=0"]), ("from 1 to 255", ["--novel=256"]), ("how often code is recorded", ["--novel=much"]),
                           ("nothing is recorded", ["--novel", "--events=none"]), ("with --only", ["--novel", "--function=main"])):
        out = subprocess.run([GAIT, "record", *options, "-o", WORK / "none.gait", "--", late()], capture_output=True, text=True)
        require(out.returncode == 2 and words in out.stderr, f"{options}: {out.returncode} {out.stderr}")


main()
