#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait analyze: several analyses in one pass find what each finds alone, in every form; and what is said when that cannot be.

    tests/analyze/run.py [NAME]...     only the cases whose names contain one of these
"""
import csv
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("analyze")
DEPS = HERE.parent / "deps"
SECONDS = 60
# Of each analysis: options that are not the default ones.
CHOSEN = {
    "cache": {"D1": "2048,2,64", "I1": "1024,1,32", "LL": "8192,4,64", "by": "instruction", "sort": "ll"},
    "deps": {"by": "instruction", "sort": "cross"},
}


def run(*args, **kw):
    return subprocess.run([GAIT, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, **kw)


def single(name):
    """The options of an analysis, for its own command and for gait analyze."""
    return [word for option, value in CHOSEN[name].items() for word in (f"--{option}", value)]


def several(names):
    return ["-a", ",".join(names), *(f"--set={name}.{option}={value}" for name in names for option, value in CHOSEN[name].items())]


def fixed_program():
    return build("odd", DEPS / "odd_stores.c", "-static", "-no-pie")


def qualified(names, results):
    return {f"{name}.{table}": rows for name, result in zip(names, results) for table, rows in result.items()}


# -- Results ------------------------------------------------------------------------------------------------------------

@case
def several_find_what_each_finds_alone():
    trace = record("threads", build("threads", DEPS / "hand_over.c"))
    for names in (["cache", "deps"], ["deps", "cache"]):
        alone = [analysis(name, *single(name), trace) for name in names]
        for jobs in ("1", "2", "4", "8"):
            together = analysis("analyze", "-j", jobs, *several(names), trace)
            require(list(together) == list(qualified(names, alone)), f"{names}: the tables are {list(together)}")
            require(together == qualified(names, alone), f"{names}: -j {jobs} differs from each alone")


@case
def live_is_as_stored():
    program = fixed_program()
    names = list(CHOSEN)
    for knobs in ("", "hot,tinybuf"):
        live, stored = live_and_stored(program, ["analyze", *several(names)], knobs)
        require(live == stored, f"GAIT_STRESS={knobs}: live and stored differ")
        alone = [live_and_stored(program, [name, *single(name)], knobs)[0] for name in names]
        require(live == qualified(names, alone), f"GAIT_STRESS={knobs}: live, several differ from each alone")


@case
def one_analysis_keeps_the_names_of_its_tables():
    trace = record("true", "/bin/true")
    for names in ("cache", "cache,cache"):
        require(analysis("analyze", "-a", names, trace) == analysis("cache", trace), f"-a {names} is not gait cache")


@case
def the_text_names_the_analyses():
    out = run("analyze", "-a", "cache", "-a", "deps", "--top", "1", record("true", "/bin/true")).stdout
    titles = [line for line in out.splitlines() if re.match(r"(cache|deps): ", line)]
    require(titles == ["cache: caches", "cache: in all", "cache: where", "deps: in all", "deps: from which store to which load",
                       "deps: instructions from store to load"], f"the titles are {titles}")
    require(len(re.findall(r"^and \d+ more; --top N shows N$", out, re.M)) == 2, "--top 1 does not tell that there is more")


# -- Forms --------------------------------------------------------------------------------------------------------------

def read_csv(text):
    """Tables by name, each a list of rows."""
    tables = {}
    for part in text.split("\n\n"):
        name, _, rest = part.partition("\n")
        require(name.startswith("# "), f"a table begins with {name!r}")
        tables[name[2:]] = list(csv.DictReader(rest.splitlines()))
    return tables


@case
def json_and_csv_agree():
    trace = record("named", build('odd, "named"', DEPS / "hand_over.c", "-g"))
    for top in ("1000000", "3", "0"):
        args = ["--top", top, "-a", "cache,deps", "--set=cache.by=line", trace]
        told = json.loads(run("analyze", "--json", *args).stdout, parse_int=str, parse_float=str)
        tables = read_csv(run("analyze", "--csv", *args).stdout)
        require(list(told) == list(tables), f"JSON has {list(told)}, CSV {list(tables)}")
        for name, rows in told.items():
            rows = [{k: v or "" for k, v in row.items()} for row in (rows if isinstance(rows, list) else [rows])]
            require(rows == tables[name], f"--top {top}: {name} differs: {[r for r in zip(rows, tables[name]) if r[0] != r[1]][:1]}")
        places = sum('odd, "named"' in (row["store_module"] or "") for row in told["deps.pairs"])
        require(top != "1000000" or places > 10, "the program's name is in hardly any row")


@case
def stages_are_told():
    for args in ([record("true", "/bin/true")], ["--", "/bin/true"]):
        done = run("analyze", "-a", "cache,deps", "--json", "--stats", "-j", "2", *args)
        json.loads(done.stdout)
        head, *rows = done.stderr.splitlines()
        require(re.fullmatch(r"2 threads, [1-9]\d* stretches, [1-9]\d* works; of the threads' time:", head), head)
        shares = [re.fullmatch(r"(\S.*\S) +(\d+\.\d) %", row) for row in rows]
        require(all(shares) and len(rows) == 5, f"the stages are {rows}")
        require("taking works in turn" in [s[1] for s in shares], f"the stages are {rows}")


@case
def results_may_go_to_a_file():
    path = WORK / "results.json"
    path.unlink(missing_ok=True)
    done = run("mix", "--json", "--results", path, "--", "echo", "said")
    require(done.returncode == 0 and done.stdout == "said\n", f"status {done.returncode}, {done.stdout[:80]!r}")
    require(json.loads(path.read_text())["total"]["instructions"] > 1000, "the file has no results")
    done = run("mix", "--results", WORK / "none/results", "--", "echo", "said")
    require(done.returncode == 1 and done.stdout == "" and "none/results" in done.stderr, f"a bad path: status {done.returncode}, {done.stderr}")


@case
def a_trace_without_references_is_said_to_be_one():
    trace = WORK / "control.gait"
    subprocess.run([GAIT, "record", "--events=control", "-o", trace, "--", "/bin/true"], check=True)
    for name, says in (("cache", True), ("branches", False)):
        done = run(name, "--json", trace)
        require(done.returncode == 0 and ("--events=control" in done.stderr) == says, f"{name}: status {done.returncode}, {done.stderr!r}")


# -- How it ends --------------------------------------------------------------------------------------------------------

@case
def the_programs_end_is_its_own():
    for command, status in (("echo said; exit 3", 3), ("echo said; kill -TERM $$", -signal.SIGTERM), ("echo said; kill -KILL $$", -signal.SIGKILL)):
        done = run("analyze", "-a", "cache,deps", "--json", "--", "sh", "-c", command)
        require(done.returncode == status, f"{command}: status {done.returncode}")
        said, told = done.stdout.splitlines()
        require(said == "said" and json.loads(told)["deps.total"]["loads"] > 1000, f"{command}: {said!r}, {told[:80]}")


def refused(status, says, *args):
    done = run(*args)
    lines = done.stderr.splitlines()
    require(done.returncode == status and len(lines) == 1 and lines[0].startswith("gait: ") and re.search(says, lines[0]),
            f"{args}: status {done.returncode}, {done.stderr}")
    require(done.stdout == "", f"{args}: {done.stdout[:80]}")


@case
def what_cannot_be_is_refused():
    trace = record("true", "/bin/true")
    for says, *args in (
        ("no analysis was given", trace),
        ("there is no analysis nosuch", "-a", "cache,nosuch", trace),
        ("cache has no option nosuch", "-a", "cache,deps", "--set", "cache.nosuch=1", trace),
        ("deps is not among the analyses", "-a", "cache", "--set", "deps.by=line", trace),
        ("deps is not among the analyses", "--set", "deps.by=line", "-a", "deps", trace),
        ("the option by of cache wants a value", "-a", "cache", "--set", "cache.by", trace),
        ("--set wants ANALYSIS.OPTION=VALUE, not by", "-a", "cache", "--set", "by=line", trace),
        ("--set wants ANALYSIS.OPTION=VALUE, not cache", "-a", "cache", "--set", "cache=a.b", trace),
        (r"deps\.by is one of function, line, instruction, not page", "-a", "cache,deps", "--set", "deps.by=page", trace),
        (r"cache\.D1 wants SIZE,WAYS,LINE", "-a", "cache", "--set", "cache.D1=big", trace),
        ("--jobs is between 1 and", "-a", "deps", "-j", "0", trace),
        ("--jobs is between 1 and", "-a", "deps", "-j", "65", trace),
        ("--jobs wants a number", "-a", "deps", "--jobs=-1", trace),
        ("--top wants a number", "-a", "deps", "--top", "all", trace),
        ("--follow=maybe", "-a", "deps", "--follow", "maybe", trace),
        ("--nosuch is unknown", "-a", "deps", "--nosuch", trace),
        ("--by=line is unknown", "-a", "deps", "--by=line", trace),
        ("no TRACE, -p PID or -- PROGRAM was given", "-a", "deps"),
        ("is one more", "-a", "deps", trace, trace),
    ):
        refused(2, says, "analyze", *args)
    refused(1, "cannot open .*nosuch.gait", "analyze", "-a", "deps", WORK / "nosuch.gait")
    refused(1, "is not a gait trace", "analyze", "-a", "deps", HERE / "run.py")
    refused(1, "cannot run ./nosuch", "analyze", "-a", "deps", "--", "./nosuch")
    refused(2, "--by is one of", "deps", "--by", "page", trace)


# -- Traces that are not whole ------------------------------------------------------------------------------------------

@case
def a_trace_that_was_cut_is_analysed_as_far_as_it_goes():
    """... which is as far as gait dump prints it."""
    data = record("shell", "sh", "-c", "(echo a); /bin/true; (echo b)").read_bytes()  # a chunk of records for each process
    cut, lengths = WORK / "cut.gait", set()
    for share in range(4, 41, 2):
        cut.write_bytes(data[:len(data) * share // 40 - 1])
        done = run("analyze", "-a", "cache,deps", "--json", cut)
        require(done.returncode == 0 and re.fullmatch(r"gait: \S+: the recording was interrupted: .*\n", done.stderr),
                f"{share}/40 of a trace: status {done.returncode}, {done.stderr}")
        told = json.loads(done.stdout)
        n = sum(event[2] == "exec" for event in events_of(cut))
        require(told["cache.total"]["Ir"] == told["deps.total"]["instructions"] == n,
                f"{share}/40 of a trace: {n} instructions, {told['deps.total']}")
        lengths.add(n)
    require(len(lengths) > 3, f"all cuts leave as much: {lengths}")


@case
def a_damaged_trace_is_told():
    data = record("threads", build("threads", DEPS / "hand_over.c")).read_bytes()
    bad = WORK / "bad.gait"
    for share in range(1, 40, 2):
        at = len(data) * share // 40
        bad.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1:])
        done = run("analyze", "-a", "cache,deps", "--json", bad)
        require(done.returncode == 1 and re.fullmatch(r"gait: \S+ is damaged: .*\n", done.stderr),
                f"byte {at}: status {done.returncode}, {done.stderr}")
        if done.stdout:
            require(json.loads(done.stdout)["deps.total"]["instructions"] == sum(
                line.split()[2] == "exec" for line in run("dump", bad).stdout.splitlines()[1:]), f"byte {at}: not what dump prints")


if __name__ == "__main__":
    main()
