# SPDX-License-Identifier: MIT
"""What tools see is what gait dump shows; the examples count what is counted plainly here; a trace is recorded besides."""
import json
import subprocess
from collections import defaultdict

from cases import GAIT, ROOT, case, live_and_stored, require
from subjects import (EXAMPLES, JOBS, TRACES, WORK, crowd, events_of, flat, gait, lines_of, memories, native, ok, result_of, same_lines,
                      same_threads, see, seen, shell, states_of, symbols_of, tool_of, trace_of, without_states, without_times, work)


# -- What the tool `seen` sees -------------------------------------------------------------------------------------------

@case
def a_tool_sees_what_dump_shows():
    for name, knobs in TRACES:
        trace = trace_of(name, knobs)
        for jobs in ("1", "4"):
            states, counts = see("NONE", "all", "-j", jobs, trace)
            require(len(states) == 1, f"{len(states)} states")
            same_lines(flat(states[0]), lines_of(trace), f"{trace.name} -j {jobs}")
            require(counts["batches"] == len(states[0]) and counts["marks"] == sum(line[23] == "-" for line in lines_of(trace)), f"counts {counts}")
            for memory, lines in states[0]:
                require(memory == memories(trace)[int(lines[0][:6])], f"{trace.name}: {lines[0]!r} is of process {memory}")


@case
def an_instruction_of_many_references_goes_on():
    trace = trace_of("work", "")
    states, _ = see("NONE", "many", trace)
    sizes = [len(lines) for _, lines in states[0] if lines[0][26:32] in ("load  ", "store ")]
    require(sizes, "no batch begins in the middle of an instruction")


@case
def instructions_have_their_bytes():
    for knobs in ("", "hot,tinybuf"):
        see("NONE", "bytes", trace_of("work", knobs))
        segments, found = segments_of(work()), 0
        for line in (WORK / "bytes.code.0").read_text().splitlines():
            _, pc, code = line.split()
            for start, content in segments:
                at = int(pc, 16) - start
                if 0 <= at < len(content):
                    found += 1
                    require(content[at:at + len(code) // 2].hex() == code, f"{pc} is {code}, and {content[at:at + len(code) // 2].hex()} in the file")
        require(found > 1000, f"only {found} instructions are the program's")


def segments_of(program):
    data, segments = program.read_bytes(), []
    for line in subprocess.run(["readelf", "-lW", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if words and words[0] == "LOAD":
            offset, address, size = (int(words[i], 16) for i in (1, 2, 4))
            segments.append((address, data[offset:offset + size]))
    return segments


@case
def live_is_as_stored():
    for knobs in ("", "tinybuf", "hot,tinybuf"):
        trace = WORK / "fixed.gait"
        subprocess.run([*shell(knobs), GAIT, "record", "-o", trace, "--", work()], stdout=subprocess.DEVNULL, check=True)
        stored = without_times(ok(gait("dump", trace)).stdout.splitlines()[1:])
        for jobs in ("1", "4"):
            subprocess.run([*shell(knobs), GAIT, "tool", "-j", jobs, "--set", f"to={WORK / 'live'}", seen(), "--", work()], stdout=subprocess.DEVNULL, check=True)
            same_lines(without_times(flat(states_of("live")[0])), stored, f"live, GAIT_STRESS={knobs} -j {jobs}")


# -- Splits --------------------------------------------------------------------------------------------------------------
STATES = ("1", "3", "8")
SPLIT = [("work", "hot,tinybuf"), ("crowd", "")]


@case
def time_gives_each_batch_to_one_state():
    for name, knobs in SPLIT:
        trace = trace_of(name, knobs)
        for jobs in STATES:
            states, counts = see("TIME", "time", "-j", jobs, trace)
            require(len(states) == int(jobs), f"{len(states)} states with -j {jobs}")
            require(sum(map(len, states)) == counts["batches"], "a batch was lost")
            if counts["batches"] >= len(states):
                require(all(states), f"{trace.name} -j {jobs}: a state has seen nothing")
            in_turn = [states[i % len(states)][i // len(states)] for i in range(counts["batches"])]
            same_lines(flat(in_turn), lines_of(trace), f"{trace.name} -j {jobs}")


@case
def thread_gives_each_thread_to_one_state():
    for name, knobs in SPLIT:
        trace = trace_of(name, knobs)
        for jobs in STATES:
            states, _ = see("THREAD", "thread", "-j", jobs, trace)
            threads = [{int(lines[0][:6]) for _, lines in s} for s in states]
            require(sum(map(len, threads)) == len(set().union(*threads)), f"{trace.name} -j {jobs}: a thread is in several states: {threads}")
            same_threads([line for s in states for line in flat(s)], lines_of(trace), f"{trace.name} -j {jobs}")
            if name == "crowd" and jobs != "1":
                require(sum(map(bool, threads)) > 1, "all threads are in one state")


@case
def address_gives_each_byte_to_one_state():
    piece = 64
    for name, knobs in SPLIT:
        trace = trace_of(name, knobs)
        expected = defaultdict(list)
        for line in lines_of(trace):
            if line[26:32] not in ("load  ", "store ", "modify"):
                continue
            at, left = int(line[32:50], 16), int(line[50:])
            while left:
                n = min(left, piece - at % piece)
                expected[at // piece].append(f"{line[:32]}{at:18x}{n:6}")
                at, left = at + n, left - n
        for jobs in STATES:
            where = f"{trace.name} -j {jobs}"
            states, _ = see("ADDRESS", "address", "-j", jobs, trace)
            pieces = [defaultdict(list) for _ in states]
            for number, s in enumerate(states):
                for line in flat(s):
                    if line[26:32] in ("load  ", "store ", "modify"):
                        pieces[number][int(line[32:50], 16) // piece].append(line)
                    else:
                        require(number == 0, f"{where}: state {number} sees {line!r}")
            require(sum(map(len, pieces)) == len(expected), f"{where}: {sum(map(len, pieces))} pieces, plainly {len(expected)}")
            require(len(states) < 2 or all(pieces), f"{where}: a state has seen nothing")
            for p in pieces:
                for number, lines in p.items():
                    same_lines(lines, expected[number], f"{where}, piece {number:x}")
            others = [line for line in lines_of(trace) if line[26:32] not in ("load  ", "store ", "modify")]
            same_lines([line for line in flat(states[0]) if line[26:32] not in ("load  ", "store ", "modify")], others, where)


# -- The examples, counted plainly ---------------------------------------------------------------------------------------

NAMED = ("work_fill", "work_copy", "work_sum", "work_for_nothing", "main", "handler")


def named(pc):
    """Which of the program's own functions it is in."""
    for name in NAMED:
        start, size = symbols_of(work())[name]
        if start <= pc < start + size:
            return name
    return None


def sums_by_function(counts):
    """counts: by (memory, pc). In all, and of the named functions."""
    sums = defaultdict(lambda: [0] * len(next(iter(counts.values()))))
    for (_, pc), n in counts.items():
        for name in {"", named(pc) or ""}:
            sums[name] = [a + b for a, b in zip(sums[name], n)]
    return sums


def rows_by_function(rows, columns):
    sums = defaultdict(lambda: [0] * len(columns))
    for row in rows:
        for name in {"", row["function"] if row["function"] in NAMED and row["module"] == str(work()) else ""}:
            sums[name] = [a + row[c] for a, c in zip(sums[name], columns)]
    return sums


def same_sums(ours, plain, program, where):
    for name in plain if program == "work" else [""]:
        require(list(ours[name]) == list(plain[name]), f"{where}: {name or 'in all'} {ours[name]}, plainly {plain[name]}")


def same_for_all_jobs(tool, trace, *options):
    results = [result_of(tool, "-j", jobs, *options, trace) for jobs in JOBS]
    for jobs, r in zip(JOBS, results):
        require(r == results[0], f"{tool.name} {trace.name}: with -j {jobs} another result")
    return results[0]


@case
def functions_counts_instructions_and_bytes():
    for name, knobs in TRACES:
        trace, counts = trace_of(name, knobs), defaultdict(lambda: [0, 0, 0])
        for memory, pc, what, _, size in events_of(trace):
            n = counts[memory, pc]
            n[0] += what == "exec"
            n[1] += size * (what in ("load", "modify"))
            n[2] += size * (what in ("store", "modify"))
        rows = same_for_all_jobs(EXAMPLES / "functions.so", trace)["functions"]
        same_sums(rows_by_function(rows, ("instructions", "read", "written")), sums_by_function(counts), name, trace.name)


@case
def working_set_counts_pages():
    for name, knobs in TRACES:
        trace = trace_of(name, knobs)
        for interval, page in ((7000, 4096), (977, 64)):
            executed, pages = 0, defaultdict(set)
            for memory, _, what, address, size in events_of(trace):
                executed += what == "exec"
                if what != "exec":
                    pages[(executed - 1) // interval].update((memory, p) for p in range(address // page, (address + size - 1) // page + 1))
            plain = [[min((i + 1) * interval, executed), len(pages[i])] for i in range(-(-executed // interval))]
            rows = same_for_all_jobs(EXAMPLES / "working-set.so", trace, "--set", f"interval={interval}", "--set", f"page={page}")["working_set"]
            ours = [[r["instructions"], r["pages"]] for r in rows]
            require(ours == plain, f"{trace.name} {interval} {page}: {[x for x in zip(ours, plain) if x[0] != x[1]][:3]}, {len(ours)} and {len(plain)} intervals")


@case
def write_only_counts_bytes():
    for name, knobs in TRACES:
        trace, data, counts = trace_of(name, knobs), {}, defaultdict(lambda: [0, 0])
        for memory, pc, what, address, size in events_of(trace):
            if what == "exec":
                continue
            for at in range(address, address + size):
                b = data.setdefault((memory, at), [0, None, False])
                b[2] |= what != "store"
                if what != "load":
                    b[0], b[1] = b[0] + 1, pc
        for (memory, _), (writes, writer, read) in data.items():
            if writes and not read:
                n = counts[memory, writer]
                counts[memory, writer] = [n[0] + 1, n[1] + writes]
        rows = same_for_all_jobs(EXAMPLES / "write-only.so", trace)["write_only"]
        same_sums(rows_by_function(rows, ("bytes", "written")), sums_by_function(counts), name, trace.name)
        require(name == "crowd" or any(r["function"] == "work_for_nothing" and r["bytes"] >= 2048 for r in rows), "nothing is for nothing")


@case
def examples_see_the_same_live():
    for example, options in (("functions", []), ("working-set", ["--set", "interval=5000"]), ("write-only", [])):
        for knobs, jobs in (("", "1"), ("tinybuf", "4"), ("hot,tinybuf", "2"), ("lazy,tinybuf", "8")):
            live, stored = live_and_stored(work(), ["tool", "-j", jobs, *options, EXAMPLES / f"{example}.so"], knobs)
            require(live == stored, f"{example}, GAIT_STRESS={knobs} -j {jobs}: live is not as stored")


@case
def examples_are_short():
    for path in (ROOT / "examples").glob("*.c"):
        lines = len(path.read_text().splitlines())
        require(lines < 80, f"{path.name} has {lines} lines")


# -- Recording besides ---------------------------------------------------------------------------------------------------

def verified(trace):
    """It is whole, and its digest, which is returned, is that of the events that were recorded."""
    run = ok(gait("verify", trace))
    require(": ok:" in run.stdout and ", digest " in run.stdout, f"verify says {run.stdout} {run.stderr}")
    require(json.loads(ok(gait("info", "--json", trace)).stdout)["complete"], f"{trace} is not complete")
    return run.stdout.split()[-1]


@case
def a_trace_is_recorded_besides():
    for name, program, status in (("work", work(), 0), ("crowd", crowd(), 5)):
        for knobs in ("digest", "digest,hot,tinybuf", "digest,lazy,tinybuf"):
            trace = WORK / "besides.gait"
            for old in WORK.glob("besides.*"):
                old.unlink()
            run = gait("tool", "-j", "4", "-o", trace, "--set", f"to={WORK / 'besides'}", seen(), "--", program, env={"GAIT_STRESS": knobs})
            ok(run, status)
            verified(trace)
            lines = ok(gait("dump", trace)).stdout.splitlines()[1:]
            same_threads(without_states(flat(states_of("besides")[0])), without_states(lines), f"{name} GAIT_STRESS={knobs}")


@case
def that_trace_is_as_record_makes_it():
    subprocess.run([*shell("digest"), GAIT, "record", "-o", WORK / "one.gait", "--", work()], stdout=subprocess.DEVNULL, check=True)
    one = without_times(ok(gait("dump", WORK / "one.gait")).stdout.splitlines()[1:])
    for command in (["cache"], ["analyze", "-a", "cache"], ["tool", EXAMPLES / "functions.so"]):
        trace = WORK / "two.gait"
        subprocess.run([*shell("digest"), GAIT, command[0], "-o", trace, *command[1:], "--", work()], stdout=subprocess.DEVNULL, check=True)
        require(verified(trace) == verified(WORK / "one.gait"), f"gait {command[0]} -o: another digest")
        same_lines(without_times(ok(gait("dump", trace)).stdout.splitlines()[1:]), one, f"gait {command[0]} -o")


@case
def a_bad_tool_does_not_touch_that_trace():
    for how in ("crash", "kill-keeper", "loop", "finish-crash"):
        trace, out = WORK / "saved.gait", WORK / "saved.txt"
        run = gait("tool", "-o", trace, "--patience", "1", "--set", f"how={how}", tool_of("bad.c"), "--", work(), 40, out, env={"GAIT_STRESS": "digest"})
        ok(run, 1)
        require(out.read_text() == native(40), f"{how}: the program wrote {out.read_text()!r}")
        verified(trace)


@case
def a_trace_is_not_recorded_of_a_trace():
    for command in (["cache"], ["analyze", "-a", "cache"], ["tool", EXAMPLES / "functions.so"]):
        run = gait(command[0], "-o", WORK / "no.gait", *command[1:], trace_of("work", ""))
        require(run.returncode == 2 and "-o" in run.stderr and "not run" in run.stderr, f"{command[0]}: status {run.returncode}, {run.stderr}")
        require(not (WORK / "no.gait").exists(), "there is a file")


@case
def a_trace_that_cannot_be_written_is_said():
    run = gait("tool", "-o", "/no/such/place/x.gait", EXAMPLES / "functions.so", "--", work())
    require(run.returncode == 1 and "/no/such/place" in run.stderr and not run.stdout, f"status {run.returncode}: {run.stderr} {run.stdout}")
