#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait budget says of each thread and period what the records of gait dump say; and a budget is kept: programs record now and then, and go
on as they would.

    tests/budget/run.py [NAME]...     only the cases whose names contain one of these
"""
import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
from cases import GAIT, ROOT, analysis, build, case, main, require, use  # noqa: E402

WORK = use("budget")
POLICIES = ["timer", "tv", "tvc", "tc"]
EVENTS = {"exec", "load", "store", "modify"}
BUDGET, PERIOD = 1e-3, 10e-3
ASKED = "--budget=1ms/10ms"


@cache
def naps():
    return build("naps", HERE / "naps.c", "-g", "-static", "-no-pie")


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=120).stdout


def recorded(name, *options, program=None):
    """A trace, and what the program printed."""
    trace = WORK / f"{name}.gait"
    said = run(GAIT, "record", *options, "-o", trace, "--", *(program or [naps()]))
    run(GAIT, "verify", trace)
    return trace, said


def info(trace):
    return json.loads(run(GAIT, "info", "--json", trace))


def records_of(trace):
    """(process, thread): its lines, in words, without those of references and instructions in between: these are counted, (insns, refs)."""
    threads = defaultdict(list)
    for process in range(len(info(trace)["processes"])):
        for line in run(GAIT, "dump", "--process", str(process), trace).splitlines()[1:]:
            thread, pc, what, *rest = line.split()
            to = threads[process, int(thread)]
            if what not in EVENTS:
                to.append((what, [int(x, 16) for x in rest]))
                continue
            if not to or to[-1][0] != "events":
                to.append(("events", [0, 0]))
            to[-1][1][what != "exec"] += 1
    return threads


# -- The model ----------------------------------------------------------------------------------------------------------

def rank(values, percent):
    """The least of them that so many percent are not above."""
    return min((v for v in values if sum(u <= v for u in values) * 100 >= percent * len(values)), default=0.0)


def overshoot(periods):
    late = [p["over_us"] for p in periods if p["over_us"]]
    return {"late": len(late), "used_us": sum(p["used_us"] for p in periods), "over_median_us": rank(late, 50), "over_p99_us": rank([p["over_us"] for p in periods], 99),
            "over_worst_us": max(late, default=0.0)}


def model(trace):
    """What gait budget should find."""
    periods, threads, budgets = [], [], set()
    every = records_of(trace)
    began = min(r[1][3] for records in every.values() for r in records[:1])
    rest = [0, 0]
    for (process, thread), records in sorted(every.items()):
        mine, insns, refs = [], 0, 0
        for what, x in records:
            if what == "events":
                insns, refs = insns + x[0], refs + x[1]
            if what != "paused":
                continue
            used, over, rate, at = x
            over -= over >> 63 << 64
            budgets |= {used - over} if over else set()
            over = max(over, 0)
            mine.append({"ms": 1e3 * max(at - began, 0) / rate, "process": process, "thread": thread, "period": len(mine), "used_us": 1e6 * used / rate,
                         "over_us": 1e6 * over / rate, "insns": insns, "refs": refs, "at": at})
            insns = refs = 0
        rest[0] += insns
        rest[1] += refs
        threads.append({"process": process, "thread": thread, "periods": len(mine), **overshoot(mine), "insns": insns + sum(p["insns"] for p in mine),
                        "refs": refs + sum(p["refs"] for p in mine)})
        periods += mine
    require(len(budgets) <= 1, f"there are several budgets: {budgets}")
    total = {"threads": len(threads), "periods": len(periods), **overshoot(periods), "over_us": sum(p["over_us"] for p in periods),
             "insns": sum(t["insns"] for t in threads), "refs": sum(t["refs"] for t in threads), "rest_insns": rest[0], "rest_refs": rest[1]}
    periods.sort(key=lambda p: (p["at"], p["process"], p["thread"], p["period"]))
    for p in periods:
        del p["at"]
    return {"total": total, "threads": threads, "periods": periods}


def same(found, expected, what):
    if isinstance(expected, list):
        require(len(found) == len(expected), f"{what}: {len(found)} rows instead of {len(expected)}")
        for i, (f, x) in enumerate(zip(found, expected)):
            same(f, x, f"{what}, row {i}")
        return
    for key, x in expected.items():
        require(math.isclose(found[key], x, rel_tol=1e-9, abs_tol=1e-9), f"{what}: {key} is {found[key]} instead of {x}")


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def as_the_records_say():
    trace, _ = recorded("model", ASKED)
    found, expected = analysis("budget", trace), model(trace)
    require(len(expected["threads"]) == 4 and expected["total"]["refs"], f"{expected['total']}")
    for name, table in expected.items():
        same(found[name], table, name)
    if "budget_us" in found["total"]:
        require(abs(found["total"]["budget_us"] - 1e6 * BUDGET) < 1, f"the budget is said to be {found['total']['budget_us']} us")
        for row in found["periods"]:
            length = min(row["used_us"] / (1e6 * BUDGET) * 20, 40)
            require(abs(len(row["bar"]) - length) <= 0.5001 and row["bar"].count("!") == max(len(row["bar"]) - 20, 0), f"the bar of {row}")


@case
def for_any_number_of_threads_and_live():
    results, trace = WORK / "live.json", WORK / "live.gait"
    run(GAIT, "budget", "--json", "--results", results, ASKED, "-o", trace, "--", naps())
    live = json.loads(results.read_text())
    require(live["total"]["periods"] > 0, "no period was seen")
    for jobs in (1, 2, 5):
        require(analysis("budget", f"-j{jobs}", trace) == live, f"-j{jobs} of the trace is not as live")


@case
def with_other_analyses():
    trace = WORK / "both.gait"
    out = run(GAIT, "analyze", "-a", "mix,budget", "--json", "--results", WORK / "both.json", ASKED, "-o", trace, "--", naps())
    require(out == run(naps()), "the program prints something else")
    both = json.loads((WORK / "both.json").read_text())
    mix, budget = both["mix.total"], both["budget.total"]
    require(mix["instructions"] == budget["insns"] > 0, f"mix counts {mix['instructions']} instructions, budget {budget['insns']}")
    require(mix["loads"] + mix["stores"] + mix["modifies"] == budget["refs"], "they count different references")


@case
def a_trace_without_a_budget():
    trace, _ = recorded("none", program=[naps(), "2"])
    found, whole = analysis("budget", trace), info(trace)
    require(found["periods"] == [] and "budget_us" not in found["total"], f"{found['total']}")
    require(found["total"]["insns"] == found["total"]["rest_insns"] == whole["instructions"], f"{found['total']}")


@case
def each_policy_keeps_the_output_and_the_budget():
    program = [naps(), "12"]
    native = run(*program)
    whole = info(recorded("whole", program=program)[0])["instructions"]
    for policy in POLICIES:
        for scope in ("thread", "process"):
            for _ in range(8):  # on a busy machine periods may be over before a thread is woken
                trace, said = recorded("policy", ASKED, f"--budget-policy={policy}", f"--budget-scope={scope}", program=program)
                require(said == native, f"{policy}, {scope}: the program prints {said}")
                times, found = times_it_went_on(trace, f"{policy}, {scope}"), info(trace)["instructions"]
                if times > 2 and found:
                    break
            require(times > 2, f"{policy}, {scope}: it went on recording {times} times")
            require(0 < found < whole, f"{policy}, {scope}: {found} instructions are recorded, {whole} without a budget")


def times_it_went_on(trace, what):
    """How often threads recorded again behind a pause; what has paused resumes or is in another period, of which there are only so many."""
    times = 0
    for thread, records in records_of(trace).items():
        stamps = [x[-1] for name, x in records if name in ("state", "syscall", "paused", "resumed") and x[-1]]
        went_on = 0
        told = [r for r in records if r[0] != "state"]
        for (name, x), (after, _) in zip(told, told[1:]):
            if name == "paused":
                went_on += after != "resumed"
                rate = x[2]
            require(after != "resumed" or name in ("paused", "resumed"), f"{what}, thread {thread}: resumed behind {name}")
        pauses = sum(name == "paused" for name, _ in told)
        times += sum(a == "paused" and b in ("resumed", "events") for (a, _), (b, _) in zip(told, told[1:]))
        if pauses > 1:
            most = (stamps[-1] - stamps[0]) / rate / PERIOD + 2
            require(went_on <= most, f"{what}, thread {thread}: went on {went_on} times behind a pause, in {most - 2:.1f} periods")
    return times


@case
def a_budget_for_a_function():
    """What is recorded is the function and what it calls, and less of it; not with tc, which looks when code is new, and this is soon not."""
    program = [naps(), "12"]
    symbols = {words[3]: (int(words[0], 16), int(words[1], 16)) for words in map(str.split, run("nm", "-S", naps()).splitlines()) if len(words) == 4}
    places = [range(at, at + size) for at, size in (symbols["inner"], symbols["leaf"])]
    whole = info(recorded("function", "--function=inner", program=program)[0])["instructions"]
    for policy in POLICIES:
        trace, said = recorded("function", "--function=inner", ASKED, f"--budget-policy={policy}", program=program)
        require(said == run(*program), f"{policy}: the program prints {said}")
        ran = [int(line.split()[1], 16) for line in run(GAIT, "dump", trace).splitlines()[1:] if " exec " in line]
        require(all(any(pc in place for place in places) for pc in ran), f"{policy}: other code is recorded")
        require(0 < len(ran) < whole + (policy == "tc"), f"{policy}: {len(ran)} instructions are recorded, {whole} without a budget")
        total = analysis("budget", trace)["total"]
        require(total["insns"] == len(ran) and (total["periods"] or policy == "tc"), f"{policy}: {total}")


@case
def a_function_that_is_called_between_system_calls():
    """Each call is shorter than a buffer, and takes about half of the time: the clock must run from its beginning."""
    program = [naps(), "400", "300", "10000"]
    whole = info(recorded("between", "--function=inner", program=program)[0])["instructions"]
    for policy in ("timer", "tv", "tvc"):
        trace, said = recorded("between", "--function=inner", ASKED, f"--budget-policy={policy}", program=program)
        require(said == run(*program), f"{policy}: the program prints {said}")
        found = analysis("budget", trace)
        require(0 < found["total"]["insns"] < whole, f"{policy}: {found['total']['insns']} instructions are recorded, {whole} without a budget")
        for row in found["threads"]:
            require(row["periods"] > 1 or not row["insns"], f"{policy}: {row}")


@case
def who_calls_twice_rests_nevertheless():
    """A thread whose system calls come in pairs, with much between the pairs, runs natively there."""
    program = build("pairs", HERE / "pairs.c", "-O2")
    said = subprocess.run([GAIT, "record", "--stats", "--budget=1%/100ms", "-o", WORK / "pairs.gait", "--", program], check=True, capture_output=True, text=True).stderr
    rests = int(re.search(r"times in native code +(\d+)", said)[1])
    require(rests > 1500, f"after 2000 calls, {rests} times in native code")


@case
def gaits_threads_keep_out_of_the_way():
    """Those that work for the program keep to processors that it may not use, or else to half of all; it may use what it could before."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        print("  (one processor only: nothing to see)")
        return
    look = "sleep 0.2; grep -h Cpus_allowed_list /proc/$PPID/task/*/status; grep Cpus_allowed_list /proc/self/status"
    show = lambda trace, *command: [listed(line.split()[1]) for line in recorded(trace, ASKED, program=command)[1].splitlines()]  # noqa: E731
    for its in (cpus, cpus[-1:], cpus[:-1]):
        *ours, found = show("aside", "taskset", "-c", ",".join(map(str, its)), "sh", "-c", look)
        aside = sorted(set(cpus) - set(its)) or cpus[len(cpus) - len(cpus) // 2:]
        require(found == its, f"the program may use {found}, not {its}")
        require(len(ours) > 2 and ours.count(aside) >= len(ours) - 2, f"the program may use {its}, gait's threads {ours}")


def listed(text):
    """A list of processors as the kernel writes it."""
    ends = [list(map(int, part.split("-"))) for part in text.split(",")]
    return [cpu for end in ends for cpu in range(end[0], end[-1] + 1)]


main()
