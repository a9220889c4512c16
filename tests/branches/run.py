#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait branches counts is what plain predictors (models.py) count on the same instructions, for every branch.

    tests/branches/run.py [NAME]...     only the cases whose names contain one of these
"""
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, analysis, build, case, live_and_stored, main, record, require, use  # noqa: E402
from listing import listing, ways  # noqa: E402
from models import Options, run  # noqa: E402

WORK = use("branches")
LINKED_AT = 0x400000  # where the first byte of a program's file goes
SMALL = Options(predictor="tage", entries=64, tage=(4, 32, 5, 3, 70), aging=700, targets=16, returns=5)
CHOICES = [
    Options(),
    Options(predictor="bimodal"),
    Options(predictor="bimodal", entries=32, targets=1, returns=1),
    Options(predictor="gshare"),
    Options(predictor="gshare", entries=256, history=8, targets=8, returns=64),
    Options(predictor="gshare", entries=1024, history=0),
    SMALL,
    Options(predictor="tage", entries=2, tage=(1, 2, 4, 1, 1), aging=1),
    Options(predictor="tage", entries=512, tage=(12, 64, 8, 2, 640), aging=1000),
    Options(predictor="tage", entries=4096, tage=(3, 256, 16, 7, 7)),
]


# -- Comparing ----------------------------------------------------------------------------------------------------------

def static(name, *options):
    return build(name, HERE / f"{name}.c", "-static", "-no-pie", *options)


def branches(options, *args):
    return analysis("branches", "--by", "instruction", *options.words(), *args)


def compare(result, counts, instructions, where):
    total = {"instructions": instructions, "mispredicted": 0}
    for kind, of in counts.items():
        sums = [sum(n[i] for n in of.values()) for i in range(3)]
        total |= {kind: sums[0], f"{kind}_missed": sums[2]} | ({"taken": sums[1]} if kind == "conditional" else {})
        total["mispredicted"] += sums[2]
    ours = {name: result["total"][name] for name in total}
    require(ours == total, f"{where}: in all {ours}, plainly {total}")
    require(abs(result["total"]["mpki"] - 1000 * total["mispredicted"] / instructions) < 1e-9, f"{where}: mpki {result['total']['mpki']}")
    rows = {row["offset"] + LINKED_AT: [row["executed"], row["taken"], row["mispredicted"]] for row in result["rows"]}
    plain = {pc: n for of in counts.values() for pc, n in of.items()}
    different = [hex(pc) for pc in rows.keys() | plain.keys() if rows.get(pc) != plain.get(pc)]
    require(not different, f"{where}: these branches differ: {different[:5]}")


def compare_trace(trace, program, choices):
    insns, went = listing(program), ways(trace)
    require(len(went) > 1000, "hardly any instructions")
    for options in choices:
        counts = run(went, insns, options)
        compare(branches(options, trace), counts, len(went), f"{trace.name} {' '.join(options.words())}")


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def predictors_of_all_kinds_and_sizes():
    program = static("paths")
    compare_trace(record("paths", program), program, CHOICES)


@case
def small_buffers_and_hot_units():
    program = static("paths")
    compare_trace(record("stressed", program, GAIT_STRESS="hot,tinybuf"), program, [SMALL, CHOICES[2], CHOICES[4]])


@case
def what_comes_behind_a_branch_may_be_a_signal():
    program = static("interrupted")
    for knobs in ("", "hot,tinybuf"):
        compare_trace(record("interrupted", program, GAIT_STRESS=knobs), program, [SMALL])


@case
def threads_and_processes():
    program = static("paths")
    for knobs in ("", "hot,tinybuf"):
        choices = [Options(**vars(o) | {"threads": shared}) for o in (SMALL, CHOICES[4]) for shared in ("private", "shared")]
        compare_trace(record("threads", program, "threads", GAIT_STRESS=knobs), program, choices)


@case
def control_flow_is_enough():
    program = static("paths")
    traces = [WORK / f"{level}.gait" for level in ("memory", "control")]
    for trace in traces:
        subprocess.run(["setarch", "-R", "env", "-i", GAIT, "record", f"--events={trace.stem}", "-o", trace, "--", program], check=True)
    for options in (SMALL, CHOICES[1]):
        whole, control = (branches(options, trace) for trace in traces)
        require(whole == control, f"{options}: {whole['total']} with references, {control['total']} without")
    compare_trace(traces[1], program, [SMALL])


@case
def live_is_as_stored_with_any_number_of_threads():
    program = static("paths")
    for options in (CHOICES[2], CHOICES[4], SMALL):
        for knobs in ("", "hot,tinybuf"):
            first = None  # the program sees the knobs: its instructions may differ
            for jobs in ("1", "2", "4", "8"):
                found = live_and_stored(program, ["branches", "--by", "instruction", "-j", jobs, *options.words()], knobs)
                first = first or found[1]
                require(found[0] == found[1] == first, f"{options} GAIT_STRESS={knobs} -j {jobs}: {[x['total'] for x in found]}")


@case
def any_number_of_threads_is_the_same_of_many():
    trace = record("many", static("paths"), "threads", GAIT_STRESS="tinybuf")
    for options in (Options(predictor="bimodal", entries=32, threads="shared"), Options(threads="shared"), Options(predictor="bimodal")):
        found = [branches(options, "-j", jobs, trace) for jobs in ("1", "2", "3", "8")]
        require(all(x == found[0] for x in found), f"{options}: {[x['total'] for x in found]}")


@case
def what_cannot_be_is_a_usage_error():
    for given, word in (("entries=100", "power of two"), ("entries=x", "number"), ("history=15", "index"), ("tage=6,1024,10,4", "5 numbers"),
                        ("tage=0,1024,10,4,160", "tables"), ("tage=6,1000,10,4,160", "entries"), ("tage=6,1024,3,4,160", "tags"),
                        ("tage=6,1024,10,9,8", "histories"), ("tage=6,1024,10,4,5000", "histories"), ("aging=0", "aging"),
                        ("targets=3", "power of two"), ("returns=0", "65536"), ("predictor=best", "bimodal, gshare, tage"),
                        ("threads=none", "private, shared"), ("by=file", "function")):
        command = [GAIT, "branches", *(["--predictor=gshare"] if given.startswith("history") else []), f"--{given}", "x.gait"]
        run_ = subprocess.run(command, capture_output=True, text=True)
        require(run_.returncode == 2 and word in run_.stderr, f"--{given}: status {run_.returncode}, {run_.stderr}")


if __name__ == "__main__":
    main()
