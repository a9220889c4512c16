#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait record --events=values: the data that is read and written is what the stepper finds in memory before and after each instruction.

VALUES=all adds programs that take minutes."""
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import *

use("values")
STEPPER = ROOT / "build/oracle/stepper"
PIN = ROOT / "build/oracle/pin.so"
INSN_FLAGS = "-nostdlib -static -no-pie -Wl,-z,noexecstack -Wl,--build-id=none".split()
ENV = ["env", "-i", "PATH=/usr/bin:/bin", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0"]
FIXED = ["taskset", "-c", "0", "setarch", "-R"]


def run(*command, pinned=True):
    """In the one environment, which both the stepper and gait must have."""
    preload = [f"LD_PRELOAD={PIN}"] if pinned else []
    return subprocess.run([*ENV, *preload, *FIXED, *map(str, command)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", cwd=work())


def judged(program, *argv, pinned=True):
    """The stepper's events: (kind, address, size, data, excuse); data: what was read and written, as far as there is such."""
    listing = work() / "judged"
    run(STEPPER, "--values", "-o", listing, "--", program, *argv, pinned=pinned)
    for line in open(listing):
        kind, address, *rest = line.replace(",", " ").split()
        size, *data = rest
        excuse = data.pop() if data and data[-1] in ("rep", "masked", "area") else None
        yield kind, int(address, 16), int(size), data, excuse


def recorded(name, program, *argv, pinned=True, options=()):
    """gait's: the same without excuses; "?" where the data is unknown."""
    trace = work() / f"{name}.gait"
    trace.unlink(missing_ok=True)
    run(GAIT, "record", "--events=values", *options, "-o", trace, "--", program, *argv, pinned=pinned)
    subprocess.run([GAIT, "verify", trace], check=True, capture_output=True)
    yield from events_with_data(trace)


def events_with_data(trace, *options):
    with subprocess.Popen([GAIT, "export", "--to", "csv", *options, trace], stdout=subprocess.PIPE, text=True) as p:
        require(next(p.stdout) == "thread,pc,kind,address,size,read,written\n", "the columns are not those of a trace with values")
        for line in p.stdout:
            _, _, kind, address, size, read, written = line.rstrip("\n").split(",")
            data = [d.removeprefix("0x") for d in (read, written) if d]
            yield {"exec": "I", "load": "L", "store": "S", "modify": "M"}[kind], int(address, 16), int(size), data


def is_overwritten(stepped, k):
    """Does the same instruction store there again? The stepper sees nothing but the last of such."""
    _, address, size, *_ = stepped[k]
    for kind, a, n, *_ in stepped[k + 1:k + 64]:
        if kind == "I":
            return False
        if kind == "S" and a < address + size and address < a + n:
            return True


def plain(event):
    """The data without the pointer to the last x87 instruction and its opcode: that is in the cache (docs/limits.md), and a thread that is stopped all
    the time may have none."""
    first, last = {108: (12, 20), 28: (12, 20), 94: (6, 10), 14: (6, 10), 512: (6, 16)}.get(event[2], (0, 0))
    return [d[:len(d) - 2 * last] + d[len(d) - 2 * first:] for d in event[3]]


def compare(stepped, got, name, again=None):
    """How many accesses there are, and how many of unknown data. Data that differs between two runs of the stepper (random bytes of the kernel) is
    not looked at."""
    accesses = unknown = other = 0
    stepped, got, again = list(stepped), list(got), again and list(again)
    require(len(stepped) == len(got), f"{name}: {len(got)} events instead of {len(stepped)}")
    for k, (s, g) in enumerate(zip(stepped, got)):
        require(s[:3] == g[:3], f"{name}: event {k} is {g}, the stepper says {s}")
        if s[0] == "I":
            require(not g[3], f"{name}: an instruction has data: {g}")
            pc = s[1]
            continue
        accesses += 1
        require(len(g[3]) == len(s[3]) == (2 if s[0] == "M" else 1), f"{name}: event {k} at {pc:x} has {g[3]}, the stepper {s[3]}")
        if again and again[k][3] != s[3]:
            other += 1
        elif "?" in g[3]:
            require(s[4], f"{name}: event {k} at {pc:x} {g} is unknown, the stepper says {s}")
            unknown += 1
        elif not is_overwritten(stepped, k):
            require(plain(g) == plain(s), f"{name}: event {k} at {pc:x} is {g}, the stepper says {s}")
    require(other * 4 <= accesses, f"{name}: {other} of {accesses} accesses differ between two runs of the stepper")
    return accesses, unknown


def program_of(source, *options):
    return build(source, ROOT / f"tests/programs/{source}.c", *options)


def judge_program(name, program, *argv, again=True):
    """What the kernel gives at random is told from two runs of the stepper."""
    twice = list(judged(program, *argv)) if again else None
    return compare(judged(program, *argv), recorded(name, program, *argv), name, twice)


@case
def a_static_program_has_the_data_that_the_stepper_sees():
    accesses, unknown = judge_program("static", program_of("mixed", "-static"))
    require(accesses > 10000 and unknown < accesses / 10, f"{unknown} of {accesses} are unknown")


@case
def faults_and_handlers_have_the_data_that_the_stepper_sees():
    judge_program("faults", program_of("faults_and_handlers", "-static"))


@case
def generated_code_has_the_data_that_the_stepper_sees():
    judge_program("generated", program_of("generated_code_is_traced", "-static"))


@case
def a_loaded_program_has_the_data_that_the_stepper_sees():
    judge_program("true", "/bin/true")


@case
def instructions_read_and_write_what_the_stepper_sees():
    (work() / "insn").mkdir(exist_ok=True)
    features = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    failures, n = [], 0
    for source in sorted((ROOT / "tests/insn").glob("*.S")):
        text = source.read_text()
        needs = [w for line in text.splitlines() if "needs:" in line for w in line.split("needs:")[1].split()]
        if "# not yet:" in text or any(w not in features for w in needs):
            continue
        program = work() / "insn" / source.stem
        if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
            subprocess.run(["gcc", *INSN_FLAGS, "-I", source.parent, "-o", program, source], check=True)
        if run(program, pinned=False).returncode:
            continue
        try:
            n += 1
            compare(judged(program, pinned=False), recorded("insn", program, pinned=False), source.stem)
        except (Failed, subprocess.CalledProcessError) as e:
            failures.append(str(e))
    require(n > 200, f"only {n} instruction cases can run here")
    require(not failures, f"{len(failures)} of {n} cases: " + "\n".join(failures[:int(os.environ.get("SHOW", 5))]))


main()
