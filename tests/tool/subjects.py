# SPDX-License-Identifier: MIT
"""What the cases of this suite look at: programs, their traces, tools, and what gait dump says of them."""
import json
import os
import re
import signal
import subprocess
import time
from collections import defaultdict
from pathlib import Path

from cases import GAIT, ROOT, Failed, build, require, use

HERE = Path(__file__).resolve().parent
WORK = use("tool")
EXAMPLES = ROOT / "build/examples"
JOBS = ("1", "2", "4", "8")
LIMIT = 60  # seconds for anything: what takes longer hangs
made = {}


def once(function):
    """Made when it is first asked for, and once for each set of arguments."""
    def get(*args):
        key = (function.__name__, *args)
        if key not in made:
            made[key] = function(*args)
        return made[key]
    return get


@once
def work():
    return build("work", HERE / "work.c", "-g", "-static", "-no-pie")


@once
def crowd():
    return build("crowd", HERE / "crowd.c", "-g", "-static", "-no-pie")


@once
def trace_of(name, knobs, *args):
    program = {"work": work, "crowd": crowd}[name]()
    trace = WORK / "-".join([name, *knobs.split(","), *args, "x.gait"])
    run = subprocess.run([GAIT, "record", "-o", trace, "--", program, *args], env=dict(os.environ, GAIT_STRESS=knobs), stdout=subprocess.DEVNULL)
    require(run.returncode == (5 if name == "crowd" else 0), f"{program} under gait record: status {run.returncode}")
    return trace


TRACES = [(name, knobs) for name in ("work", "crowd") for knobs in ("", "hot,tinybuf")]


@once
def tool_of(source, *options):
    """A tool, made as the manual says."""
    name = Path(source).stem + "".join(re.sub(r"\W", "-", o) for o in options) + ".so"
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'include'}", *options,
                    "-o", WORK / name, HERE / source], check=True)
    return WORK / name


def seen(split="NONE"):
    return tool_of("seen.c", f"-DSPLIT=GAIT_SPLIT_{split}")


def run_it(*argv, env=None, cwd=None):
    """What a command printed, and how it ended; that it does not end is a failure."""
    try:
        return subprocess.run([*map(str, argv)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=LIMIT, env=dict(os.environ, **(env or {})), cwd=cwd)
    except subprocess.TimeoutExpired as late:
        raise Failed(str(late)) from late


def gait(*args, **how):
    return run_it(GAIT, *args, **how)


def ok(run, status=0):
    require(run.returncode == status, f"{' '.join(map(str, run.args))}: status {run.returncode}, {run.stderr[-300:]}")
    return run


def result_of(tool, *args, status=0):
    """The JSON of a tool: the last line, since a program may have printed before it."""
    out = ok(gait("tool", "--json", *args[:-1], tool, args[-1]), status).stdout
    return json.loads(out.splitlines()[-1])


@once
def long_trace():
    return trace_of("work", "", "40")


@once
def native(times):
    """What the program prints."""
    return subprocess.run([work(), str(times)], stdout=subprocess.PIPE, text=True, check=True).stdout


@once
def symbols_of(program):
    """Addresses and sizes of its functions, by name."""
    found = {}
    for line in subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 4 and words[2] in "tT":
            found[words[3]] = (int(words[0], 16), int(words[1], 16))
    return found


# -- Events --------------------------------------------------------------------------------------------------------------

@once
def lines_of(trace, *options):
    return ok(gait("dump", *options, trace)).stdout.splitlines()[1:]


def by_thread(lines):
    threads = defaultdict(list)
    for line in lines:
        threads[int(line[:6])].append(line)
    return threads


def same_lines(ours, theirs, where):
    for i, (a, b) in enumerate(zip(ours, theirs) if ours != theirs else ()):
        require(a == b, f"{where}: event {i} is {a!r}, and {b!r} in gait dump")
    require(len(ours) == len(theirs), f"{where}: {len(ours)} events, and {len(theirs)} in gait dump")


def same_threads(ours, theirs, where):
    a, b = by_thread(ours), by_thread(theirs)
    require(sorted(a) == sorted(b), f"{where}: threads {sorted(a)}, and {sorted(b)} in gait dump")
    for thread in a:
        same_lines(a[thread], b[thread], f"{where}, thread {thread}")


def without_states(lines):
    """A trace leaves out state records that say nothing new, as they do where buffers begin."""
    return [line for line in lines if line[26:32] != "state "]


def without_times(lines):
    """Of two runs of the same program these are the same: no time stamps, and no results of system calls, which may be a pid."""
    slots = {"syscall": 1, "signal": 3, "sigreturn": 1}
    return [" ".join(line.split()[:3 + slots[line.split()[2]]]) if line[23] == "-" else line for line in without_states(lines)]


def shell(knobs):
    """For a static program that is run twice: the kernel places nothing at random."""
    return ["setarch", "-R", "env", "-i", f"GAIT_STRESS={knobs}"]


def states_of(name):
    """What each state of the tool `seen` has written: a list of batches, which are a process and lines."""
    states = []
    while (path := WORK / f"{name}.{len(states)}").exists():
        batches = []
        for line in path.read_text().splitlines():
            if line.startswith("batch "):
                batches.append((int(line[6:]), []))
            else:
                batches[-1][1].append(line)
        states.append(batches)
    return states


def see(split, name, *args, status=0):
    """Have the tool `seen` look at something; what its states have written, and what it has counted."""
    for old in WORK.glob(f"{name}.*"):
        old.unlink()
    run = ok(gait("tool", "--json", "--set", f"to={WORK / name}", *args[:-1], seen(split), *(args[-1] if isinstance(args[-1], list) else args[-1:])),
             status)
    return states_of(name), json.loads(run.stdout.splitlines()[-1])["seen"]


def flat(batches):
    return [line for _, lines in batches for line in lines]


@once
def memories(trace):
    """Which memory each thread works on."""
    threads = {}
    for p in json.loads(ok(gait("info", "--json", trace)).stdout)["processes"]:
        for line in lines_of(trace, "--process", str(p["number"])) if p["instructions"] else []:
            threads[int(line[:6])] = p["memory"]
    return threads


@once
def events_of(trace):
    """(memory, pc, what, address, size) of each event that is no mark."""
    memory, events = memories(trace), []
    for line in lines_of(trace):
        if line[23] != "-":
            events.append((memory[int(line[:6])], int(line[8:24], 16), line[26:32].strip(), int(line[32:50], 16), int(line[50:])))
    return events


# -- Processes -----------------------------------------------------------------------------------------------------------

def descendants(pid):
    try:
        children = [int(x) for t in Path(f"/proc/{pid}/task").iterdir() for x in (t / "children").read_text().split()]
    except OSError:
        return []
    return [x for child in children for x in [child, *descendants(child)]]


def is_ours(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") == str(GAIT.resolve())
    except OSError:
        return False


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def until(holds, why):
    end = time.monotonic() + LIMIT
    while not holds():
        require(time.monotonic() < end, why)
        time.sleep(0.02)


def until_they_end(pids, why):
    """A test that fails leaves nobody behind."""
    try:
        until(lambda: not any(map(is_alive, pids)), why)
    finally:
        for pid in filter(is_alive, pids):
            os.kill(pid, signal.SIGKILL)


def has_begun(pid):
    """gait has let it go on."""
    try:
        return "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text() and not is_ours(pid)
    except OSError:
        return False
