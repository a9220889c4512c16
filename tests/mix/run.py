#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait mix counts is what is counted here, event by event, with what objdump says of the instructions.

    tests/mix/run.py [NAME]...     only the cases whose names contain one of these

Registers are checked on registers.S, whose comments say what each instruction reads and writes.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402
from listing import listing, ways  # noqa: E402

use("mix")
WIDTHS = ("none", "scalar", "64", "128", "256", "512")
KINDS = ("load", "store", "modify")


def static(name, source, *options):
    return build(name, source, "-static", "-no-pie", *options)


# -- Counting -----------------------------------------------------------------------------------------------------------

def count_events(events):
    """What needs nobody's opinion on instructions."""
    n = {"insns": Counter(), "lengths": Counter(), "sizes": Counter(), "refs": Counter(), "bytes": Counter()}
    for _, pc, what, _, size in events:
        if what == "exec":
            n["insns"][pc] += 1
            n["lengths"][size] += 1
        else:
            n["sizes"][what, size] += 1
            n["refs"][pc, what] += 1
            n["bytes"][what] += size
    return n


def totals_of(n):
    kinds = {kind: sum(count for (_, what), count in n["refs"].items() if what == kind) for kind in KINDS}
    return {"instructions": n["insns"].total(), "loads": kinds["load"], "stores": kinds["store"], "modifies": kinds["modify"],
            "bytes_read": n["bytes"]["load"] + n["bytes"]["modify"], "bytes_written": n["bytes"]["store"] + n["bytes"]["modify"]}


def flow_of(trace, insns):
    goes, taken = Counter(), 0
    for _, pc, size, following in ways(trace):
        kind = insns[pc].goes()
        goes[kind] += 1
        taken += kind == "cond" and following != pc + size
    blocks = sum(count for kind, count in goes.items() if kind)
    return {"branches": goes["cond"], "taken": taken, "not_taken": goes["cond"] - taken, "jumps": goes["jump"] + goes["ijump"],
            "indirect_jumps": goes["ijump"], "calls": goes["call"] + goes["icall"], "indirect_calls": goes["icall"],
            "returns": goes["ret"], "syscalls": goes["kernel"], "blocks": blocks}


# -- Comparing ----------------------------------------------------------------------------------------------------------

def same(ours, plain, what):
    require(ours == plain, f"{what}: {dict(list((ours.items() - plain.items()))[:5])}, plainly {dict(list((plain.items() - ours.items()))[:5])}")


def by(rows, name, *columns):
    found = {row[name]: tuple(row[c] for c in columns) if len(columns) > 1 else row[columns[0]] for row in rows}
    require(len(found) == len(rows), f"a {name} has two rows")
    return found


def compare_events(result, events, where):
    n = count_events(events)
    require(n["insns"].total() > 1000, "hardly any events")
    plain = totals_of(n)
    same({k: result["total"][k] for k in plain}, plain, f"{where}: in all")
    same({k: v for k, v in by(result["lengths"], "length", "count").items() if v}, dict(n["lengths"]), f"{where}: lengths")
    sizes = {size: tuple(n["sizes"][kind, size] for kind in KINDS) for _, size in n["sizes"]}
    same(by(result["sizes"], "size", "loads", "stores", "modifies"), sizes, f"{where}: sizes")
    return n


def compare_trace(trace, program):
    """The same and all that objdump has an opinion on, for a program loaded where it was linked."""
    where, insns, result = trace.name, listing(program), analysis("mix", "--by", "instruction", trace)
    n = compare_events(result, list(events_of(trace)), where)
    flow = flow_of(trace, insns)
    same({k: result["total"][k] for k in flow}, flow, f"{where}: control flow")
    names, vectors = Counter(), dict.fromkeys(WIDTHS, 0)
    for pc, count in n["insns"].items():
        names[insns[pc].name] += count
        vectors[insns[pc].vector()] += count
    same(by(result["opcodes"], "name", "count"), dict(names), f"{where}: names")
    same(by(result["vectors"], "width", "count"), vectors, f"{where}: vectors")
    require(result["total"]["vectors"] == names.total() - vectors["none"], f"{where}: {result['total']['vectors']} vector instructions")
    for table in ("categories", "extensions"):
        require(sum(row["count"] for row in result[table]) == names.total(), f"{where}: the {table} are not all instructions")
    compare_rows(result, n, insns, where)


def compare_rows(result, n, insns, where):
    plain = Counter()
    for pc, count in n["insns"].items():
        refs = (n["refs"][pc, kind] for kind in KINDS)
        plain[count, *refs, count * (insns[pc].goes() == "cond"), count * (insns[pc].vector() != "none")] += 1
    ours = Counter(tuple(row[k] for k in ("instructions", "loads", "stores", "modifies", "branches", "vectors")) for row in result["rows"])
    require(ours == plain, f"{where}: of single instructions {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def instructions_of_many_kinds():
    program = static("kinds", HERE / "kinds.c")
    compare_trace(record("kinds", program), program)


@case
def small_buffers_and_hot_units():
    program = static("kinds", HERE / "kinds.c")
    compare_trace(record("stressed", program, GAIT_STRESS="hot,tinybuf"), program)


@case
def an_ordinary_program():
    trace = record("true", "/bin/true")
    compare_events(analysis("mix", trace), list(events_of(trace)), "true")


@case
def records_left_in_their_middle():
    program = static("faults", HERE / "faults.c")
    for knobs in ("", "hot,tinybuf"):
        compare_trace(record("faults", program, GAIT_STRESS=knobs), program)
    for name in ("gather_faults_in_the_middle", "faults_and_handlers"):
        trace = record(name, build(name, ROOT / f"tests/programs/{name}.c"))
        compare_events(analysis("mix", trace), list(events_of(trace)), name)


def expected_registers(source):
    """# TIMES NAME READS > WRITES, of each instruction of an assembly file that has such a comment."""
    names, reads, writes = Counter(), Counter(), Counter()
    for line in source.read_text().splitlines():
        found = re.search(r"# (\d+) (\S+) (.*)>(.*)", line)
        if found:
            names[found[2]] += int(found[1])
            reads.update({register: int(found[1]) for register in found[3].split()})
            writes.update({register: int(found[1]) for register in found[4].split()})
    return names, {register: (reads[register], writes[register]) for register in reads.keys() | writes.keys()}


@case
def registers_are_as_written_down():
    program = build("registers", HERE / "registers.S", "-nostdlib", "-static")
    result = analysis("mix", record("registers", program))
    names, registers = expected_registers(HERE / "registers.S")
    same(by(result["opcodes"], "name", "count"), dict(names), "names")
    same(by(result["registers"], "name", "reads", "writes"), registers, "registers")


@case
def live_is_as_stored_with_any_number_of_threads():
    program = static("kinds", HERE / "kinds.c")
    for knobs in ("", "hot,tinybuf"):
        first = None  # the program sees the knobs: its instructions may differ
        for jobs in ("1", "2", "4", "8"):
            live, stored = live_and_stored(program, ["mix", "--by", "instruction", "-j", jobs], knobs)
            live["total"].pop("records"), stored["total"].pop("records")  # hot units hold more, and depend on the moment
            first = first or stored
            require(live == stored == first, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def several_processes_are_summed_up():
    trace = record("processes", "sh", "-c", "/bin/true; /bin/true & wait")
    compare_events(analysis("mix", "-j", "4", trace), list(events_of(trace)), "processes")


@case
def without_references_the_rest_is_the_same():
    program = static("kinds", HERE / "kinds.c")
    fixed = ["setarch", "-R", "env", "-i", GAIT, "record"]
    traces = [ROOT / f"build/mix/{level}.gait" for level in ("memory", "control")]
    for trace in traces:
        subprocess.run([*fixed, f"--events={trace.stem}", "-o", trace, "--", program], stdout=subprocess.DEVNULL, check=True)
    whole, control = (analysis("mix", trace) for trace in traces)
    for table in ("opcodes", "categories", "extensions", "registers", "vectors", "lengths"):
        require(whole[table] == control[table], f"{table} differ")
    require(control["total"]["loads"] == 0 and control["sizes"] == [], "references out of nowhere")


if __name__ == "__main__":
    main()
