#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait export writes is what the naive decoder's events become in each format, converted here by other code.

    tests/export/run.py [NAME]...     only the cases whose names contain one of these

ChampSim's records are read as ChampSim reads them: kinds of branches follow from the registers alone. What kind of branch an
instruction is, and where it leads, is asked of objdump; branches.S says it in its comments.
"""
import re
import struct
import subprocess
import sys
from collections import Counter, namedtuple
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "oracle")]
import decode  # noqa: E402 (it is found through the path above)
from cases import GAIT, ROOT, build, case, main, record, require, use  # noqa: E402

WORK = use("export")
# ChampSim's numbers, from its tracer and its documentation; from 27 on they are gait's, from gait-export(1).
NUMBERS = {name: 3 + i for i, name in enumerate(
    "rdi rsi rbp rsp rbx rdx rcx rax r8 r9 r10 r11 r12 r13 r14 r15 cs ss ds es fs gs flags rip target".split())}
NUMBERS.update({f"xmm{i}": 64 + i for i in range(32)})
Record = namedtuple("Record", "ip branch taken writes reads written read")


# -- Programs, traces, exports ------------------------------------------------------------------------------------------

def export(trace, to, *options):
    """What gait export writes, and what it says."""
    done = subprocess.run([GAIT, "export", "--to", to, *options, trace], capture_output=True, check=False)
    require(done.returncode == 0, f"gait export --to {to} {trace} ends with {done.returncode}: {done.stderr.decode()}")
    return done.stdout, done.stderr.decode()


def events(trace, process=None, thread=None):
    with open(trace, "rb") as f:
        for e in decode.events(f):
            if process in (None, e.process) and thread in (None, e.thread):
                yield e


def same(lines, trace, to, *options):
    """Compare the lines with an export, and say where they part."""
    found = export(trace, to, *options)[0].decode().splitlines()
    n = 0
    for n, line in enumerate(lines, 1):
        if n > len(found) or found[n - 1] != line:
            raise Failed(f"line {n} of gait export --to {to} {' '.join(options)} {trace} should be {line!r}, "
                         f"but is {found[n - 1] if n <= len(found) else 'not there'!r}")
    require(n == len(found) and n > 1, f"gait export --to {to} {trace} has {len(found)} lines, not {n}")


def din(e):
    return [f"{label} {e.address:x}" for label in {"I": "2", "L": "0", "S": "1", "M": "01"}[e.kind]]


def csv(e):
    kind = {"I": "exec", "L": "load", "S": "store", "M": "modify"}[e.kind]
    return f"{e.thread},{e.pc:#x},{kind},{e.address:#x},{e.size}"


def texts_agree(trace, process=None, thread=None):
    """All text formats of a trace, or of a process or thread of it."""
    options = [w for name, n in (("process", process), ("thread", thread)) if n is not None for w in (f"--{name}", str(n))]

    def chosen():
        return events(trace, process, thread)
    same((f"{'I ' if e.kind == 'I' else ' ' + e.kind} {e.address:08x},{e.size}" for e in chosen()), trace, "lackey", *options)
    same((line for e in chosen() for line in din(e)), trace, "din", *options)
    same((line for part in (["thread,pc,kind,address,size"], map(csv, chosen())) for line in part), trace, "csv", *options)


# -- ChampSim -----------------------------------------------------------------------------------------------------------

def champsim(trace, *options):
    """The records of an export, and how many references it says that it left out."""
    data, said = export(trace, "champsim", *options)
    require(len(data) % 64 == 0, f"{trace}: the records have not 64 bytes each")
    lost = re.match(r"gait: (\d+) memory references did not fit .*\n$", said)
    require(lost or not said, f"{trace}: gait export says {said!r}")
    return [Record(r[0], r[1], r[2], r[3:5], r[5:9], r[9:11], r[11:15])
            for r in struct.iter_unpack("<QBB2B4B2Q4Q", data)], int(lost[1]) if lost else 0


def kind_of(r):
    """How ChampSim sees an instruction: what it reads and writes decides."""
    sp, flags, ip = 6, 25, 26
    reads, writes = set(r.reads) - {0}, set(r.writes) - {0}
    others = bool(reads - {sp, flags, ip})
    if ip not in writes:
        return "none"
    if not reads & {sp, flags} and not others:
        return "direct jump"
    if not reads & {sp, flags, ip} and others:
        return "indirect"
    if sp not in reads | writes and ip in reads and (flags in reads or others):
        return "conditional"
    if {sp, ip} <= reads and sp in writes and flags not in reads:
        return "indirect call" if others else "direct call"
    if sp in reads and sp in writes and ip not in reads:
        return "return"
    return "other"


def from_events(trace, thread):
    """Address, length, addresses written and read of each instruction of a thread."""
    now = None
    for e in events(trace, thread=thread):
        if e.kind == "I":
            if now:
                yield now
            now = e.pc, e.size, [], []
        else:
            now[2].extend([e.address] * (e.kind in "SM"))
            now[3].extend([e.address] * (e.kind in "LM"))
    yield now


def branches_of(program):
    """Kind and target of each branch of a program at a fixed address, as objdump names them."""
    listing = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True).stdout
    kinds = {}
    prefix = r"(?:(?:bnd|notrack|addr32|repz|repnz|rep|ds|cs|data16|rex\.W) )*"
    for pc, name, star, target in re.findall(rf"^ *([0-9a-f]+):\t{prefix}(j\w+|loop\w*|call|ret)\b(?:,p[nt])? *(\*?)([0-9a-f]*)",
                                             listing, re.M):
        kind = ("return" if name == "ret" else ("indirect call" if star else "direct call") if name == "call" else
                "conditional" if name != "jmp" else "indirect" if star else "direct jump")
        kinds[int(pc, 16)] = kind, int(target, 16) if target and not star and name != "ret" else None
    return kinds


def champsim_agrees(trace, thread, branches):
    """Compare an export with the events and with what objdump says; return how often each kind of branch was seen."""
    records, lost = champsim(trace, "--thread", str(thread))
    expected = list(from_events(trace, thread))
    require(len(records) == len(expected), f"{trace}: {len(records)} records for {len(expected)} instructions")
    seen, left_out = Counter(), 0
    for n, (r, (pc, size, written, read)) in enumerate(zip(records, expected)):
        where = f"{trace}: record {n}, {r}"
        require(r.ip == pc, f"{where}: should be at {pc:#x}")
        require([a for a in r.written if a] == written[:2] and [a for a in r.read if a] == read[:4],
                f"{where}: wrote {written[:2]}, read {read[:4]}")
        left_out += len(written[2:]) + len(read[4:])
        kind, target = branches.get(pc, ("none", None))
        require(kind_of(r) == kind and r.branch == (kind != "none"), f"{where}: is seen as {kind_of(r)}, but is {kind}")
        seen[kind, bool(r.taken)] += 1
        if kind != "conditional":
            require(r.taken == r.branch, f"{where}: a branch without a condition is taken, and nothing else is")
        elif n + 1 < len(expected) and expected[n + 1][0] in (target, pc + size):  # else a signal came between
            require(r.taken == (expected[n + 1][0] != pc + size), f"{where}: the next instruction is at {expected[n + 1][0]:#x}")
    require(lost == left_out, f"{trace}: gait export says that it left out {lost} references, but they are {left_out}")
    return seen


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def text_formats_are_what_the_naive_decoder_reads():
    texts_agree(record("static", build("static", ROOT / "tests/programs/mixed.c", "-static", "-no-pie")))


@case
def text_formats_of_one_thread():
    program = build("threads", ROOT / "tests/programs/trampolines_on_the_stack.c", "-pthread")
    trace = record("threads", program)
    threads = sorted({e.thread for e in events(trace)})
    require(len(threads) > 1, f"{trace} has one thread only")
    texts_agree(trace, thread=threads[-1])


@case
def text_formats_of_one_process():
    trace = record("processes", "/bin/sh", "-c", "/bin/true; exit 0")
    texts_agree(trace, process=1)


@case
def champsim_records_are_what_the_naive_decoder_reads():
    program = build("champ", ROOT / "tests/programs/mixed.c", "-static", "-no-pie")
    seen = champsim_agrees(record("champ", program), 0, branches_of(program))
    kinds = ("none", "direct jump", "indirect", "conditional", "direct call", "indirect call", "return")
    require({k for k, _ in seen} == set(kinds), f"these kinds were seen: {seen}")
    require(seen["conditional", True] and seen["conditional", False], "no conditional branch went both ways")


@case
def champsim_sees_branches_through_signals():
    program = build("faults", ROOT / "tests/programs/faults_and_handlers.c", "-static", "-no-pie")
    champsim_agrees(record("faults", program), 0, branches_of(program))


@case
def champsim_tells_every_kind_of_branch():
    source = HERE / "branches.S"
    program = build("branches", source, "-nostdlib", "-static", "-no-pie")
    symbols = {name: int(at, 16) for at, name in re.findall(
        r"^([0-9a-f]+) \w (\w+)$", subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout, re.M)}
    trace = record("branches", program)
    champsim_agrees(trace, 0, branches_of(program))
    records, lost = champsim(trace)
    require(lost == 1 + 3, f"five bytes were copied, and {lost} references left out")
    expectations = re.findall(r"^(\w+):.*# ([a-z ]+?) ?([-+]*) \| reads ?(.*?) \| writes ?(.*)$", source.read_text(), re.M)
    require(len(expectations) == source.read_text().count("| reads ") - 1, "an expectation cannot be read")
    for label, kind, outcomes, reads, writes in expectations:
        found = [r for r in records if r.ip == symbols[label]]
        for r in found:
            require(kind_of(r) == kind, f"{label} is seen as {kind_of(r)}, not as {kind}: {r}")
            for what, numbers, names in (("reads", r.reads, reads), ("writes", r.writes, writes)):
                require(set(numbers) - {0} == {NUMBERS[n] for n in names.split()}, f"{label} {what} not {names}: {r}")
        require([r.taken for r in found] == [int(o == "+") for o in outcomes or "-"], f"{label} went not {outcomes}: {found}")


@case
def champsim_of_stressed_recordings_is_the_same():
    program = build("branches", HERE / "branches.S", "-nostdlib", "-static", "-no-pie")
    whole = champsim(record("plain", program))
    for knobs in ("single", "blocks", "nolink,tinybuf"):
        trace = WORK / "stressed.gait"
        subprocess.run(["env", f"GAIT_STRESS={knobs}", GAIT, "record", "-o", trace, "--", program], check=True)
        kept = [r._replace(written=(), read=()) for r in champsim(trace)[0]]
        require(kept == [r._replace(written=(), read=()) for r in whole[0]], f"GAIT_STRESS={knobs} makes other records")


if __name__ == "__main__":
    main()
