#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait record --events=values: the data that is read and written is what the stepper finds in memory before and after each instruction.

VALUES=all adds programs that take minutes."""
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import *

use("values")
STEPPER = ROOT / "build/oracle/stepper"
PIN = ROOT / "build/oracle/pin.so"
INSN_FLAGS = "-nostdlib -static -no-pie -Wl,-z,noexecstack -Wl,--build-id=none".split()
ENV = ["env", "-i", "PATH=/usr/bin:/bin", "LANG=C", "GLIBC_TUNABLES=glibc.pthread.rseq=0"]
FIXED = ["taskset", "-c", os.environ.get("ORACLE_CPU", "0"), "setarch", "-R"]


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


def plain(event, name):
    """The data without the pointers to the last x87 instruction and its data: the first is in the cache (docs/limits.md), and a thread that is stopped all
    the time may have none. Our own cases load others than they have stored."""
    first, last = {108: (12, 28), 28: (12, 28), 94: (6, 14), 14: (6, 14), 512: (6, 24)}.get(event[2], (0, 0))
    if event[0] == "L" and name.startswith("data_"):
        return event[3]
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
            require(plain(g, name) == plain(s, name), f"{name}: event {k} at {pc:x} is {g}, the stepper says {s}")
    require(other * 4 <= accesses, f"{name}: {other} of {accesses} accesses differ between two runs of the stepper")
    return accesses, unknown


def program_of(source, *options):
    return build(source, ROOT / f"tests/programs/{source}.c", *options)


def judge_program(name, program, *argv, again=True):
    """What the kernel gives at random is told from two runs of the stepper."""
    twice = list(judged(program, *argv)) if again else None
    return compare(judged(program, *argv), recorded(name, program, *argv), name, twice)


@case
def faults_and_handlers_have_the_data_that_the_stepper_sees():
    judge_program("faults", program_of("faults_and_handlers", "-static"))


@case
def generated_code_has_the_data_that_the_stepper_sees():
    judge_program("generated", program_of("generated_code_is_traced", "-static"))


@case
def longer_programs_have_the_data_that_the_stepper_sees():
    if os.environ.get("VALUES") != "all":
        return
    accesses, unknown = judge_program("static", program_of("mixed", "-static"))
    require(accesses > 10000 and unknown < accesses / 10, f"{unknown} of {accesses} are unknown")
    judge_program("true", "/bin/true")


@case
def instructions_read_and_write_what_the_stepper_sees():
    (work() / "insn").mkdir(exist_ok=True)
    features = next(line for line in open("/proc/cpuinfo") if line.startswith("flags")).split()
    failures, n = [], 0
    for source in sorted([*(ROOT / "tests/insn").glob("*.S"), *Path(__file__).parent.glob("*.S")]):
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
            _, unknown = compare(judged(program, pinned=False), recorded("insn", program, pinned=False), source.stem)
            said = re.search(r"# unknown: (\d+)", text)
            require(not said or unknown == int(said[1]), f"{source.stem}: the data of {unknown} accesses is unknown, not of {said and said[1]}")
        except (Failed, subprocess.CalledProcessError) as e:
            failures.append(str(e))
    require(n > 200, f"only {n} instruction cases can run here")
    require(not failures, f"{len(failures)} of {n} cases: " + "\n".join(failures[:int(os.environ.get("SHOW", 5))]))


def told(trace, *options):
    """The lines of gait dump as (thread, pc, what, address, size, data), data: what was read and what was written, None where there is none; (thread, name) for a
    record of the guest."""
    with subprocess.Popen([GAIT, "dump", *options, trace], stdout=subprocess.PIPE, text=True) as p:
        next(p.stdout)
        for line in p.stdout:
            thread, pc, what, *rest = line.split()
            if what not in ("load", "store", "modify"):
                if pc == "-":
                    yield int(thread), what
                continue
            data = [d for d in rest[2:] if d != "->"]
            read = data[0] if what != "store" else None
            yield int(thread), int(pc, 16), what, int(rest[0], 16), int(rest[1]), read, data[-1] if what != "load" else None


def bytes_of(text):
    return bytes.fromhex(text)[::-1]


def check_memory(events):
    """What is read is what was last read or written there, unless the kernel came between. How many bytes were compared."""
    memory, compared = {}, 0
    for event in events:
        if len(event) == 2:
            if event[1] != "state":
                memory.clear()
            continue
        _, pc, what, address, size, read, written = event
        if read not in (None, "?"):
            for k, byte in enumerate(bytes_of(read)):
                require(memory.get(address + k, byte) == byte, f"at {pc:x} {address + k:x} is {byte:02x}, and was {memory.get(address + k, 0):02x}")
                compared += address + k in memory
                memory[address + k] = byte
        if written == "?":
            for k in range(size):
                memory.pop(address + k, None)
        elif written:
            for k, byte in enumerate(bytes_of(written)):
                memory[address + k] = byte
    return compared


def record_values(name, *argv):
    trace = work() / f"{name}.gait"
    trace.unlink(missing_ok=True)
    done = subprocess.run([GAIT, "record", "--events=values", "-o", trace, "--", *argv], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=True)
    subprocess.run([GAIT, "verify", trace], check=True, capture_output=True)
    return trace, done.stdout


@case
def what_is_read_was_written_before():
    text = work() / "text"
    text.write_bytes((ROOT / "docs/events.md").read_bytes()[:3000])
    for name, *argv in (["gzip", "/bin/gzip", "-c", text], ["ls", "/bin/ls", "-l", ROOT / "docs"]):
        trace, _ = record_values(name, *argv)
        compared = check_memory(told(trace))
        require(compared > 100000, f"{name}: only {compared} bytes were compared")


@case
def a_trace_has_the_data_that_was_recorded():
    trace = work() / "digest.gait"
    for knobs in ("digest", "digest,tinybuf", "digest,tinycache,single"):
        subprocess.run(["env", f"GAIT_STRESS={knobs}", GAIT, "record", "--events=values", "-o", trace, "--", "/bin/ls", "-l", ROOT / "docs"],
                       check=True, capture_output=True)
        subprocess.run([GAIT, "verify", trace], check=True, capture_output=True)


@case
def exchanges_that_race_are_exact_and_threads_have_their_own_data():
    trace, out = record_values("exchanges", build("exchanges", Path(__file__).with_name("exchanges.c")))
    head, *final = out.splitlines()
    total, maximum, token, own = (int(word, 16) for word in head.split()[:4])
    n = int(head.split()[4])
    sums, steps, given, taken, last = [], [], [], [], {}
    for event in told(trace):
        if len(event) == 2:
            continue
        _, _, what, address, size, read, written = event
        if what == "modify" and address == total:
            sums.append((int(read, 16), int(written, 16)))
        elif what == "modify" and address == maximum:
            steps.append((int(read, 16), int(written, 16)))
        elif what == "modify" and address == token:
            taken.append(int(read, 16))
            given.append(int(written, 16))
        elif what == "store" and own <= address < own + 4 * len(final):
            last[address] = written
    require(sorted(sums) == [(i, i + 1) for i in range(n)], "the threads' sums do not make all steps, each once")
    changed = [s for s in steps if s[0] != s[1]]
    require(sorted(changed) == [(2 * i, 2 * i + 2) for i in range(n)], "the threads' compare-and-exchanges do not make all steps, each once")
    require(len(taken) == n and set(taken) <= {0, *given}, "a token was taken that nobody gave")
    for k, text in enumerate(final):
        require(last.get(own + 4 * k, "00000000") == text, f"element {k} is {text}, and the last that was stored there {last.get(own + 4 * k)}")


@case
def analyses_find_the_same_with_and_without_data():
    program = program_of("mixed", "-static")
    traces = []
    for level in ("memory", "values"):
        trace = work() / f"same-{level}.gait"
        run(GAIT, "record", f"--events={level}", "-o", trace, "--", program, pinned=False)
        traces.append(trace)
    for name in ("cache", "reuse", "deps", "branches"):
        a, b = (analysis(name, t) for t in traces)
        require(a == b, f"{name} finds something else in the trace with data")
    lackey = [subprocess.run([GAIT, "dump", "--format=lackey", t], capture_output=True, check=True).stdout for t in traces]
    require(lackey[0] == lackey[1], "the events are not the same")


@case
def a_process_that_runs_is_attached_to_with_data():
    trace = work() / "attached.gait"
    with subprocess.Popen(["/bin/sh", "-c", "while :; do x=$((x + 1)); done"], stdout=subprocess.DEVNULL) as p:
        try:
            subprocess.run([GAIT, "attach", "-p", str(p.pid), "--for", "0.2", "--events=values", "-o", trace], check=True, capture_output=True)
        finally:
            p.kill()
    subprocess.run([GAIT, "verify", trace], check=True, capture_output=True)
    compared = check_memory(told(trace, "--limit", "300000"))
    require(compared > 10000, f"only {compared} bytes were compared")


@case
def the_naive_decoder_reads_the_same_data():
    names = ["vpgatherdd_loads", "vpcompress", "enter_of_level_31", "rep", "cmpxchg", "bts", "xlat", "maskmov", "data_"]
    programs = [p for p in sorted((work() / "insn").iterdir()) if any(p.name.startswith(n) for n in names)]
    for program in [work() / "faults_and_handlers", *programs]:
        trace, _ = record_values("naive", program)
        naive = subprocess.run([ROOT / "tests/oracle/decode.py", trace], capture_output=True, text=True, check=True).stdout.splitlines()
        ours = [f"{' ' * (kind != 'I')}{kind:2}".ljust(3) + " ".join([f"{address:08x},{size}", *data]) for kind, address, size, data in events_with_data(trace)]
        require(naive == ours, f"{program.name}: " + next((f"{a!r} and {b!r}" for a, b in zip(naive, ours) if a != b), "one ends before the other"))


def older(trace, to):
    """A trace as version 4 has it: without the columns of data, and, since offsets change, without an index."""
    import xxhash
    import zstandard
    sys.path.insert(0, str(ROOT / "tests/oracle"))
    import decode
    fields = [f for table in decode.TABLES.values() for f in table.split()]
    out, sequence = bytearray(b"GAITTRC\0" + (4).to_bytes(4, "little") + bytes(4)), 0
    with open(trace, "rb") as f:
        for kind, owner, b in decode.chunks(f):
            if kind == decode.INDEX:
                continue
            contents = b.data
            if kind == decode.UNITS:
                contents = bytearray(b.take(48))
                for name in fields:
                    before = b.left
                    b.take(b.number())
                    if name not in ("before", "after"):
                        contents += b.data[len(b.data) - before:len(b.data) - b.left]
                contents += b.take(b.left)
            head = b"CHNK" + b"".join(n.to_bytes(4, "little") for n in (kind, owner, 0)) + b"".join(n.to_bytes(8, "little") for n in (sequence, len(contents), len(contents)))
            out += head + xxhash.xxh3_64_intdigest(head + bytes(8) + bytes(contents)).to_bytes(8, "little") + contents
            sequence += 1
    to.write_bytes(out)


@case
def traces_of_version_4_are_read():
    trace, old = work() / "same-memory.gait", work() / "old.gait"
    require(trace.exists(), "the trace of the analyses is not there")
    older(trace, old)
    require(old.read_bytes()[8] == 4, "the version is not 4")
    subprocess.run([GAIT, "verify", old], check=True, capture_output=True)
    new, now = (subprocess.run([GAIT, "dump", t], capture_output=True, check=True).stdout for t in (trace, old))
    require(new == now, "the events of the older trace are not the same")


main()
