#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Run the instruction cases: what the comment says, what the stepper sees, what gait records.

Each case is built, run by itself, stepped and recorded. The comments give the accesses of every
instruction line; the stepper's and gait's lackey lines must be those, and gait's instruction lines
must be the stepper's. The notation of the comments is in README.md.
"""

import argparse
import bisect
import concurrent.futures
import functools
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLAGS = ("-g -nostdlib -static -no-pie -Wl,-z,noexecstack -Wl,--build-id=none -Wa,--fatal-warnings"
         " -Wl,--fatal-warnings").split()
SKIP_STATUS = 77
SECONDS = 20


class Failure(Exception):
    """A case does not hold; the text is the first difference, `command` shows it again."""

    def __init__(self, text, command=None):
        super().__init__(text)
        self.command = command


class Skip(Exception):
    """A case cannot be run on this machine."""


# -- The case: source, expectations, program --------------------------------------------------


class Line:
    """One instruction line of the source: what each of its executions touches."""

    def __init__(self, number):
        self.number = number
        self.counted = False    # the comment says how often the line is executed
        self.never = False      # the line is there not to be reached
        self.executions = []    # the text of each execution

    def text_of(self, n):
        """The expectation of execution n, or None when there is no such execution."""
        if self.never:
            return None
        if not self.counted:
            return "none"
        return self.executions[n] if n < len(self.executions) else None

    def times(self):
        return len(self.executions)


def read_source(path):
    """Return the CPU features a case needs and {line number: Line} of the commented lines."""
    needs, lines, pending = [], {}, None
    for number, text in enumerate(path.read_text().splitlines(), 1):
        code, _, comment = text.partition("#")
        if m := re.match(r"\s*needs:\s*(.*)", comment):
            needs += m[1].split()
        m = re.match(r"\s*(?:expect(?:\*(\d+))?:\s*(.*?)|(never))\s*$", comment)
        if "expect" in comment and not m:
            raise Failure(f"line {number}: cannot read this expectation")
        if m:
            pending = Line(number)
            pending.never = bool(m[3])
            pending.counted = not pending.never
            if pending.counted:
                pending.executions = m[2].split("|") * int(m[1] or 1)
        if code.strip() and pending:
            pending.number = number
            lines[number] = pending
            pending = None
    if pending:
        raise Failure(f"line {pending.number}: no instruction follows this expectation")
    return needs, lines


def span(text):
    """The numbers of `2`, `0,3,5`, `0..7` or `7..0`."""
    for part in text.split(","):
        first, _, last = part.partition("..")
        first, last = int(first), int(last or first)
        step = 1 if last >= first else -1
        yield from range(first, last + step, step)


@functools.lru_cache(maxsize=None)
def compiled(expression):
    return compile(expression.strip(), "expectation", "eval")


def accesses(text, symbols, n):
    """The lackey lines of one execution: `none`, or `[i=SPAN] L EXPR,SIZE ; S EXPR,SIZE ...`."""
    out = []
    if text.strip() == "none":
        return out
    groups = re.split(r"\[i=([^\]]*)\]", text)
    for which, body in zip(["0"] + groups[1::2], groups[0::2]):
        body = body.strip().rstrip(";").strip()
        if not body:
            continue
        for i in span(which):
            for term in body.split(";"):
                m = re.fullmatch(r"\s*([LSM])\s+(.+),\s*(\d+)\s*", term)
                if not m:
                    raise Failure(f"cannot read the access {term.strip()!r}")
                try:
                    names = {**symbols, "i": i, "n": n}
                    address = eval(compiled(m[2]), {"__builtins__": {}}, names)
                except (NameError, SyntaxError) as e:
                    raise Failure(f"cannot read the address {m[2]!r}: {e}") from None
                out.append(f" {m[1]} {address & (1 << 64) - 1:08x},{m[3]}")
    return out


class Program:
    """A built case: its symbols, and the line and length of every instruction."""

    def __init__(self, source, path, lines):
        listing = run(["objdump", "-d", "-t", "-w", "--dwarf=decodedline", path]).stdout
        self.symbols, self.line_of, self.length_of = {}, {}, {}
        rows, stray = [], None
        for text in listing.splitlines():
            if m := re.match(r"([0-9a-f]{16}) .{7} \S+\s+[0-9a-f]+ (\w+)$", text):
                self.symbols[m[2]] = int(m[1], 16)
            elif m := re.match(r"(\S+)\s+(\d+)\s+0x([0-9a-f]+)", text):
                rows.append((int(m[3], 16), int(m[2]) if m[1] == source.name else None))
            elif m := re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)", text):
                at, size = int(m[1], 16), len(m[2].split())
                if stray is not None:
                    at, size = stray, at + size - stray
                # objdump shows a REX that is not next to its opcode on a line of its own.
                stray = at if size == 1 and m[2][0] == "4" else None
                self.length_of[at] = size
        rows.sort(key=lambda r: r[0])
        for pc, length in self.length_of.items():
            # A prefix written with .byte lies before the row of its line: ask for the last byte.
            k = bisect.bisect_right(rows, pc + length - 1, key=lambda r: r[0])
            self.line_of[pc] = rows[k - 1][1] if k else None
        for name in ("begin", "end_of_case"):
            if name not in self.symbols:
                raise Failure(f"the program has no label {name}")
        for number, line in lines.items():
            if line.times() == 1 and list(self.line_of.values()).count(number) != 1:
                raise Failure(f"line {number}: an expectation needs a line with one instruction")

    def name_of(self, text):
        """A lackey line with its address told as symbol+offset, for reading."""
        m = re.match(r"(I | [LSM]) ([0-9a-f]+),(\d+)$", text)
        if not m:
            return repr(text)
        address = int(m[2], 16)
        near = min(((abs(address - self.symbols[s]), s) for s in ("data", "zeros", "stack", "begin")
                    if s in self.symbols))
        return f"{m[1].strip()} {near[1]}{address - self.symbols[near[1]]:+d},{m[3]}"


def run(command):
    """Run a command in a process group of its own, so that a late one goes with its children."""
    with subprocess.Popen([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", start_new_session=True) as p:
        try:
            out, err = p.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, p.returncode, out, err)


def build(source, out):
    """Assemble and link a case unless the program is newer than what it is made of."""
    newest = max(p.stat().st_mtime for p in (source, HERE / "case.h", pathlib.Path(__file__)))
    if out.exists() and out.stat().st_mtime > newest:
        return
    command = ["gcc", *FLAGS, "-I", HERE, "-o", out, source]
    r = run(command)
    if r.returncode:
        raise Failure("does not build: " + r.stderr.strip().splitlines()[-1], command)


# -- The comparison ----------------------------------------------------------------------------


def between(lines, program, command):
    """The part of a lackey listing from `begin` up to `end_of_case`."""
    first, last = f"I  {program.symbols['begin']:08x},", f"I  {program.symbols['end_of_case']:08x},"
    begin = next((k for k, t in enumerate(lines) if t.startswith(first)), None)
    if begin is None:
        raise Failure("never reaches begin", command)
    end = next((k for k in range(begin, len(lines)) if lines[k].startswith(last)), None)
    if end is None:
        raise Failure("never reaches end_of_case", command)
    return lines[begin:end]


def compare_with_comment(listing, program, lines, who, command):
    """Hold each executed instruction against its line's comment."""
    seen = {}

    def at(number, text):
        return Failure(f"{who}: line {number}: {text}", command)

    k = 0
    while k < len(listing):
        m = re.fullmatch(r"I  ([0-9a-f]{8,}),(\d+)", listing[k])
        if not m:
            raise Failure(f"{who}: {listing[k]!r} is not an instruction line", command)
        pc, length = int(m[1], 16), int(m[2])
        k += 1
        got = []
        while k < len(listing) and not listing[k].startswith("I"):
            got.append(listing[k])
            k += 1
        if pc not in program.length_of:
            raise Failure(f"{who}: executes {pc:#x}, where no instruction begins", command)
        number = program.line_of[pc]
        if length != program.length_of[pc]:
            raise at(number, f"length {length}, the instruction has {program.length_of[pc]}")
        n = seen.get(number, 0)
        seen[number] = n + 1
        line = lines.get(number, Line(number))
        text = line.text_of(n)
        if text is None:
            raise at(number, f"executed {n + 1} times, expected {line.times()}")
        expected = accesses(text, program.symbols, n)
        if got != expected:
            j = next(j for j in range(max(len(got), len(expected)))
                     if got[j:j + 1] != expected[j:j + 1])
            a, b = (program.name_of(x[j]) if j < len(x) else "nothing more"
                    for x in (expected, got))
            raise at(number, f"execution {n + 1}, access {j + 1}: expected {a}, got {b}")
    first, last = program.symbols["begin"], program.symbols["end_of_case"]
    inside = {number for pc, number in program.line_of.items() if first <= pc < last}
    for number in inside | set(lines):
        line = lines.get(number, Line(number))
        if number is None or line.never:
            continue
        if line.counted and seen.get(number, 0) != line.times():
            raise at(number, f"executed {seen.get(number, 0)} times, expected {line.times()}")
        if number not in seen:
            raise at(number, "is never executed and does not say so")


def compare_with_stepper(listing, stepped, program, command):
    """Hold gait's lines against the stepper's, instruction lines included."""
    for k in range(max(len(listing), len(stepped))):
        a, b = (x[k] if k < len(x) else "nothing more" for x in (stepped, listing))
        if a != b:
            pc = next((int(t[3:].split(",")[0], 16) for t in reversed(stepped[:k + 1])
                       if t.startswith("I")), None)
            raise Failure(f"gait: line {program.line_of.get(pc)}: the stepper says "
                          f"{program.name_of(a)}, gait {program.name_of(b)}", command)


def must_succeed(command, what, status=0):
    """Run a command and return its output lines."""
    try:
        r = run(command)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: not done after {SECONDS} seconds", command) from None
    except OSError as e:
        raise Failure(f"{what}: cannot be started: {e.strerror}", command) from None
    if r.returncode == SKIP_STATUS and what == "alone":
        raise Skip("the case finds that this machine cannot run it")
    if r.returncode != status:
        told = (r.stderr.strip().splitlines() or [""])[-1]
        how = f"signal {-r.returncode}" if r.returncode < 0 else f"exit status {r.returncode}"
        raise Failure(f"{what}: {how} {told}".rstrip(), command)
    return r.stdout.splitlines()


def check(source, options, features):
    """Run one case every way that was asked for."""
    needs, lines = read_source(source)
    if missing := [f for f in needs if f not in features]:
        raise Skip("this machine has no " + ", ".join(missing))
    program_path = options.build / "insn" / source.stem
    build(source, program_path)
    program = Program(source, program_path, lines)
    for line in lines.values():
        for n in range(line.times()):
            accesses(line.text_of(n), program.symbols, n)
    must_succeed([program_path], "alone")

    stepped = None
    if "stepper" in options.only:
        command = [options.stepper, "--", program_path]
        stepped = between(must_succeed(command, "stepper"), program, command)
        if "comment" in options.only:
            compare_with_comment(stepped, program, lines, "stepper", command)
    if "gait" in options.only:
        if limit := re.search(r"^# not yet: (.*)$", source.read_text(), re.M):
            raise Skip(f"gait cannot do this yet: {limit[1]}")
        trace = program_path.with_suffix(".gait")
        trace.unlink(missing_ok=True)
        command = [options.gait, "record", "-o", trace, "--", program_path]
        must_succeed(command, "gait record")
        must_succeed([options.gait, "verify", trace], "gait verify")
        dump = [options.gait, "dump", "--format=lackey", trace]
        command = command + ["&&"] + dump
        recorded = between(must_succeed(dump, "gait dump"), program, command)
        if "comment" in options.only:
            compare_with_comment(recorded, program, lines, "gait", command)
        if stepped is not None:
            compare_with_stepper(recorded, stepped, program, command)


def cpu_features():
    for line in open("/proc/cpuinfo"):
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()


def show(command):
    """A command as one types it at the top of the repository."""
    words = [os.path.relpath(c, ROOT) if str(c).startswith(str(ROOT)) else str(c) for c in command]
    return " ".join(w if w == "&&" else shlex.quote(w) for w in words)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("names", nargs="*", help="cases to run (default: all)")
    p.add_argument("--only", default="comment,stepper,gait",
                   help="which of comment,stepper,gait to compare (default: all three)")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    p.add_argument("--stepper", type=pathlib.Path, help="default: BUILD/oracle/stepper")
    p.add_argument("--gait", type=pathlib.Path, help="default: BUILD/gait")
    p.add_argument("-j", type=int, default=2 * os.cpu_count(), help="cases at a time")
    options = p.parse_args()
    options.only = set(options.only.split(","))
    if options.only - {"comment", "stepper", "gait"}:
        p.error("--only takes comment, stepper and gait, separated by commas")
    options.build = options.build.resolve()
    if "stepper" in options.only and not options.stepper and options.build == ROOT / "build":
        # A judge that is older than its source judges by rules that no longer hold.
        command = ["make", "-s", "-C", ROOT, "build/oracle/stepper"]
        if subprocess.run(command, env={**os.environ, "MAKEFLAGS": ""}, stdout=sys.stderr).returncode:
            p.error("cannot build the stepper")
    options.stepper = (options.stepper or options.build / "oracle/stepper").resolve()
    options.gait = (options.gait or options.build / "gait").resolve()
    for tool in sorted(options.only - {"comment"}):
        path = getattr(options, tool)
        if not path.exists():
            p.error(f"{path} does not exist: build it, or leave {tool} out of --only")
    (options.build / "insn").mkdir(parents=True, exist_ok=True)
    names = [pathlib.Path(n).stem for n in options.names]
    cases = [HERE / f"{n}.S" for n in names] or sorted(HERE.glob("*.S"))
    if absent := [c.stem for c in cases if not c.exists()]:
        p.error("no such case: " + ", ".join(absent))
    features = cpu_features()

    def one(source):
        try:
            check(source, options, features)
            return "passed", ""
        except Skip as e:
            return "skipped", f"SKIP {source.stem}: {e}"
        except Failure as e:
            command = show(e.command) if e.command else show([HERE / "run.py", source.stem])
            return "failed", f"FAIL {source.stem}: {e}; to see it: {command}"

    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with concurrent.futures.ThreadPoolExecutor(options.j) as pool:
        for verdict, text in pool.map(one, cases):
            counts[verdict] += 1
            if text:
                print(text, flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed"
          + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
