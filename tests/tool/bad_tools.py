# SPDX-License-Identifier: MIT
"""Whatever a tool does, the traced program does not suffer, a sentence says what happened, and nobody is left behind."""
import json
import signal
import subprocess
import time

from cases import GAIT, case, require
from subjects import EXAMPLES, LIMIT, WORK, descendants, gait, has_begun, is_ours, long_trace, native, ok, tool_of, trace_of, until, until_they_end, work


def spoil(how, *words, status=1, options=(), stored=True, begins=True):
    """Of a trace and of a program that runs: the program is not hurt, and a sentence names the tool and says all the words."""
    tool, out = tool_of("bad.c"), WORK / "effect.txt"
    out.unlink(missing_ok=True)
    subjects = [("3", ["--", work(), "40", out])] + ([("1", [long_trace()])] if stored else [])
    for jobs, subject in subjects:
        run = gait("tool", "-j", jobs, "--json", "--set", f"how={how}", *options, tool, *subject)
        ok(run, status)
        if len(subject) > 1 and not begins:
            require(not out.exists(), f"{how}: the program was run")
        elif len(subject) > 1:
            require(out.read_text() == native(40), f"{how}: the program wrote {out.read_text()!r}")
            require(native(40) in run.stdout, f"{how}: the program printed {run.stdout!r}")
        for word in (*words, *([str(tool)] if status else [])):
            require(word in run.stderr, f"{how}: gait says {run.stderr!r}, without {word!r}")
    return run


@case
def a_tool_that_behaves_is_heard():
    require(json.loads(spoil("not", status=0).stdout)["bad"]["batches"] > 60, "hardly any batches")


@case
def a_tool_that_crashes():
    spoil("crash", "signal 11 (Segmentation fault)", "batches", "gait-tool(1)")
    spoil("abort", "signal 6 (Aborted)", "batches")


@case
def a_tool_that_crashes_at_its_beginning_or_end():
    spoil("begin-crash", "signal 11", "while it began", begins=False)
    spoil("finish-crash", "signal 11", "while it finished")


@case
def a_tool_that_crashes_in_merge():
    run = gait("tool", "-j", "3", "--set", "how=merge-crash", tool_of("bad.c"), long_trace())
    require(run.returncode == 1 and "signal 11" in run.stderr and "while it finished" in run.stderr, f"status {run.returncode}: {run.stderr}")


@case
def a_tool_that_writes_where_it_should_read():
    spoil("write-batch", "signal 11")
    spoil("write-code", "signal 11")


@case
def a_tool_that_does_not_come_back():
    spoil("loop", "did not come back for 1 seconds after", "--patience", options=("--patience", "1"))
    spoil("finish-loop", "did not come back for 1 seconds while it finished", "--patience", options=("--patience", "1"), stored=False)
    run = gait("tool", "--patience", "1", "--set", "how=begin-loop", tool_of("bad.c"), long_trace())
    require(run.returncode == 1 and "1 seconds while it began" in run.stderr, f"status {run.returncode}: {run.stderr}")


@case
def a_tool_that_takes_all_memory():
    spoil("leak", "signal 11", "64 MB", "--memory", options=("--memory", "64"))


@case
def a_tool_without_memory_for_its_threads():
    run = gait("tool", "-j", "64", "--memory", "16", "--set", "how=not", tool_of("bad.c"), long_trace())
    require(run.returncode == 1 and "--memory" in run.stderr and "--jobs" in run.stderr, f"status {run.returncode}: {run.stderr}")


@case
def a_tool_that_ends_itself():
    spoil("exit", "ended itself with status 0", "after", "gait.h(3)")
    spoil("begin-exit", "ended itself with status 0 while it began", begins=False)


@case
def a_tool_that_kills_its_keeper():
    spoil("kill-keeper", "the process that watches it was killed", "signals")


@case
def a_tool_that_closes_all_files():
    spoil("close", "cannot be written to standard output")


@case
def a_tool_that_changes_signal_handlers():
    require(json.loads(spoil("signals", status=0).stdout)["bad"]["batches"] > 60, "hardly any batches")


@case
def a_tool_that_prints_garbage():
    out = spoil("garbage", status=0).stdout
    require("garbage }{" in out and "bad" in json.loads(out.splitlines()[-1]), f"printed {out!r}")


@case
def a_table_of_facts_without_facts():
    require(json.loads(spoil("no-row", status=0).stdout)["bad"] == {}, "facts from nowhere")
    require("what a bad tool" in ok(gait("tool", "--set", "how=no-row", tool_of("bad.c"), long_trace())).stdout, "no title")


@case
def a_tool_that_cannot_begin():
    for how, word in (("begin-refuse", "cannot begin: the moon is not full"), ("begin-nothing", "its begin returned NULL")):
        out = WORK / "never.txt"
        run = gait("tool", "--set", f"how={how}", tool_of("bad.c"), "--", work(), 1, out)
        require(run.returncode == 1 and word in run.stderr and str(tool_of("bad.c")) in run.stderr, f"{how}: status {run.returncode}: {run.stderr}")
        require(not out.exists() and not run.stdout, "the program was run")


@case
def a_tool_that_is_none():
    shapes = enumerate((None, "another version", "lacks", "lacks", "lacks", "lacks", "lacks merge", "unknown split", "power of two", "is no tool"))
    tools = [(tool_of("bad.c", f"-DSHAPE={n}"), word) for n, word in shapes if word]
    text = WORK / "text.so"
    text.write_text("not an object\n")
    tools += [(text, "cannot be loaded"), (WORK / "missing.so", "No such file"), (WORK, "cannot be loaded")]
    for tool, word in tools:
        for subject in ([trace_of("work", "")], ["--", work()]):
            run = gait("tool", tool, *subject)
            require(run.returncode == 1 and word in run.stderr and str(tool) in run.stderr and not run.stdout, f"{tool}: status {run.returncode}: {run.stderr}")


@case
def options_of_a_tool():
    bad, functions, trace = tool_of("bad.c"), EXAMPLES / "functions.so", trace_of("work", "")
    run = gait("tool", "--set", "hue=red", bad, trace)
    require(run.returncode == 1 and "no option hue; there are how, other" in run.stderr, f"status {run.returncode}: {run.stderr}")
    run = gait("tool", "--set", "hue=red", functions, trace)
    require(run.returncode == 1 and "none at all" in run.stderr, f"status {run.returncode}: {run.stderr}")
    run = gait("tool", "--set", "interval=0", EXAMPLES / "working-set.so", trace)
    require(run.returncode == 1 and "cannot begin: interval and page" in run.stderr, f"status {run.returncode}: {run.stderr}")
    for args in ([], [functions], [functions, "--"], [functions, trace, "more"], ["--patience", "x", functions, trace], ["--memory", str(1 << 60), functions, trace]):
        require(gait("tool", *args).returncode == 2, f"gait tool {args} means something")
    ok(gait("tool", "functions.so", trace, cwd=EXAMPLES))  # without a slash


@case
def status_and_signal_of_the_program_pass_through():
    functions = EXAMPLES / "functions.so"
    require(gait("tool", functions, "--", "sh", "-c", "exit 7").returncode == 7, "not 7")
    require(gait("tool", functions, "--", "sh", "-c", "kill -TERM $$").returncode == -signal.SIGTERM, "not SIGTERM")


@case
def whoever_reads_the_tables_may_take_or_leave_them():
    """A pager is slower than the patience, and head reads one line."""
    command = [GAIT, "tool", "--patience", "1", "--set", "interval=10", EXAMPLES / "working-set.so", long_trace()]
    slow = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096)
    time.sleep(2.5)
    out, err = slow.communicate(timeout=LIMIT)
    require(len(out) > 4096 * 2 and slow.returncode == 0 and not err, f"a slow reader: status {slow.returncode}, {err}")
    quick = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, pipesize=4096)
    quick.stdout.read(1)
    quick.stdout.close()
    err = quick.stderr.read()
    require(quick.wait(LIMIT) == -signal.SIGPIPE and not err, f"a reader who leaves: status {quick.returncode}, {err}")


# -- Ends ----------------------------------------------------------------------------------------------------------------

@case
def nothing_is_left_when_gait_is_killed():
    for tool, options in ((EXAMPLES / "functions.so", []), (tool_of("bad.c"), ["--set", "how=loop"])):
        out = WORK / "orphan.txt"
        out.unlink(missing_ok=True)
        g = subprocess.Popen([GAIT, "tool", *options, tool, "--", work(), "10000", out], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        until(lambda: any(has_begun(p) for p in descendants(g.pid)), "the program does not begin")
        time.sleep(0.3)
        family = descendants(g.pid)
        ours = [p for p in family if is_ours(p)]
        require(len(ours) == 2 and len(family) == 3, f"{len(ours)} of {len(family)} processes are ours")
        g.kill()
        until_they_end(ours, "the keeper or the tool is left behind")
        printed = g.communicate(timeout=LIMIT)[0].decode()
        require(printed == native(10000) and out.read_text() == native(10000), f"the program printed {printed!r}")
