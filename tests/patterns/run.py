#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What gait patterns describes is what was referenced, and it describes it as METRIC's paper on partial data traces does.

    tests/patterns/run.py [NAME]...     only the cases whose names contain one of these

The descriptors as they are printed are read and expanded here, from the paper's definition alone, and compared with the events of the
trace; what gait expands, in order, is compared with them too.
"""
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import GAIT, ROOT, analysis, build, case, events_of, live_and_stored, main, record, require, use  # noqa: E402

WORK = use("patterns")
KINDS = {"load": "Read", "store": "Write", "modify": "Modify"}
STRESSES = ("", "hot,tinybuf")


# -- Descriptors from the paper's definition ----------------------------------------------------------------------------

def read_descriptor(text):
    """Its start and its loops, the outer ones first: (length, stride)."""
    irregular = re.fullmatch(r"IAD<0x(\w+), \d+, \w+>", text)
    if irregular:
        return int(irregular[1], 16), []
    loops = re.findall(r"RSD<0x(\w+), (\d+), (-?\d+), ", text)
    require(loops and re.fullmatch(r"(PRSD<[^<>]*, )*RSD<[^<>]*, (Read|Write|Modify|Place)>+", text), f"no descriptor: {text}")
    require(len({start for start, _, _ in loops}) == 1, f"several starts: {text}")
    return int(loops[0][0], 16), [(int(n), int(stride)) for _, n, stride in loops]


def expand(start, loops):
    if not loops:
        return [start % 2**64]
    (n, stride), inner = loops[0], loops[1:]
    return [address for i in range(n) for address in expand(start + i * stride, inner)]


def by_id(rows):
    found = defaultdict(list)
    for row in rows:
        found[row["id"]].append(row["descriptor"])
    return found


# -- Plain counting -----------------------------------------------------------------------------------------------------

def references_of(trace):
    references = [event for event in events_of(trace) if event[2] != "exec"]
    require(len(references) > 1000, f"{trace.name}: hardly any references")
    return references


def compare_rows(trace, events):
    """Every reference, in the descriptors as they are printed."""
    result = analysis("patterns", "--keep", "1000000", trace)
    descriptors = by_id(result["descriptors"])
    plain, ours = Counter(), Counter()
    for _, _, event, address, size in events:
        plain[KINDS[event], size, address] += 1
    for row in result["patterns"]:
        expanded = [a for text in descriptors[row["id"]] for a in expand(*read_descriptor(text))]
        require(len(expanded) == row["references"], f"{trace.name} {row['id']}: {len(expanded)} references, not {row['references']}")
        ours.update((row["kind"], row["size"], address) for address in expanded)
    require(ours == plain, f"{trace.name}: {list((ours - plain).items())[:3]}, plainly {list((plain - ours).items())[:3]}")
    require(result["total"]["references"] == len(events), f"{trace.name}: {len(events)} references")


def listed(path, merged):
    for line in path.read_text().splitlines():
        require(len(line.split()) == 5, f"expanded to {line}")
        thread, pc, event, address, size = line.split()
        yield int(thread), 0 if merged else int(pc, 16), event, int(address, 16), int(size)


def compare_order(trace, events, *options):
    """Every reference in its order, as gait expands them."""
    path, merged = WORK / "expanded.txt", "--merged" in options
    result = analysis("patterns", "--expand-to", path, *options, trace)
    plain = defaultdict(list)
    for thread, pc, event, address, size in events:
        plain[thread].append((thread, 0 if merged else pc, event, address, size))
    ours = defaultdict(list)
    for ref in listed(path, merged):
        ours[ref[0]].append(ref)
    require(result["total"]["expanded"] == "yes, all" and result["total"]["unequal"] == 0, f"{trace.name}: {result['total']}")
    require(ours == plain, f"{trace.name} {options}: what it expands to is not what was made")


def compare_all(trace):
    events = references_of(trace)
    compare_rows(trace, events)
    compare_order(trace, events)
    compare_order(trace, events, "--merged")
    compare_order(trace, events, "--window", "3", "--depth", "1")


# -- Exactness ----------------------------------------------------------------------------------------------------------

@case
def an_ordinary_program():
    compare_all(record("true", "/bin/true"))


@case
def references_of_all_sizes():
    for knobs in STRESSES:
        compare_all(record("odd", build("odd", ROOT / "tests/cache/odd_references.c"), GAIT_STRESS=knobs))


@case
def a_reference_that_faults_in_its_middle():
    compare_all(record("faults", build("faults", ROOT / "tests/programs/gather_faults_in_the_middle.c")))


@case
def walks_and_threads():
    for knobs in STRESSES:
        compare_all(record("walks", build("walks", HERE / "walks.c", "-g"), GAIT_STRESS=knobs))


@case
def processes_are_apart():
    trace = record("forks", "/bin/sh", "-c", "(:); (:); true")
    compare_order(trace, references_of(trace))


@case
def kernels_expand():
    for name in ("matmul", "tiled"):
        trace = record(name, ROOT / "build/kernels" / name, "-n", "70")
        for options in ([], ["--merged"]):
            total = analysis("patterns", "--expand", *options, trace)["total"]
            require(total["expanded"] == "yes, all" and total["references"] > 500000, f"{name} {options}: {total}")


@case
def live_is_as_stored():
    program = build("products_static", HERE / "products.c", "-g", "-static", "-no-pie")
    for knobs in ("", "tinybuf", "hot,tinybuf", "lazy,tinybuf"):
        for jobs in ("1", "2", "8"):
            live, stored = live_and_stored(program, ["patterns", "--expand", "-j", jobs], knobs)
            require(live == stored, f"GAIT_STRESS={knobs} -j {jobs}: live {live['total']}, stored {stored['total']}")


@case
def any_number_of_threads_finds_the_same():
    trace = record("walks", build("walks", HERE / "walks.c", "-g"), GAIT_STRESS="tinybuf")
    for options in ([], ["--merged"]):
        one, *others = [subprocess.run([GAIT, "patterns", "--json", *options, "-j", n, trace], capture_output=True, check=True).stdout
                        for n in "1248"]
        require(len(one) > 1000 and all(one == other for other in others), f"{options}: -j 2, 4 or 8 is not -j 1")


@case
def locals_of_calls_at_different_depths():
    program = build("depths", HERE / "depths.c", "-g", "-O1")
    require(int(subprocess.run([program], capture_output=True, text=True, check=True).stdout) >= 2, "the two arrays are never at the same place")
    trace = record("depths", program)
    for jobs in "14":
        rows = [row for row in analysis("patterns", "-j", jobs, trace)["patterns"] if row["function"] in ("either", "always") and row["references"] >= 128 * 32]
        names = {row["function"]: row["variables"] for row in rows}
        require(len(rows) == 2 and set((names["either"] or "").split(", ")) == {"either::first_array", "either::second_array"}, f"{names}")
        require(names["always"] == "always::only_array", f"{names}")


# -- The paper ----------------------------------------------------------------------------------------------------------

def products(n, tile, *options):
    """The rows and descriptors of each function's array references, in the order of the code, and how they take turns."""
    program = build("products", HERE / "products.c", "-g")
    result = analysis("patterns", *options, record(f"products{n}", program, str(n), str(tile)))
    descriptors = by_id(result["descriptors"])
    found = defaultdict(list)
    for row in sorted(result["patterns"], key=lambda row: row["offset"]):
        loops = [read_descriptor(text) for text in descriptors[row["id"]]]
        if row["references"] == {"figure3": (n - 1) ** 2, "product": n ** 3, "tiled": n ** 3, "modulo": n ** 2}.get(row["function"]):
            found[row["function"]].append((row, loops))
    return found, result


def turns(result):
    return [(row["id"], row["primary"], row["secondary"], (row["pp"], row["pk"], row["sk"])) for row in result["streams"]]


@case
def figure_3():
    n = 10
    found, result = products(n, 5)
    (read_a, [(a, loops_a)]), (read_b, [(b, loops_b)]), (write_a, [(w, loops_w)]) = found["figure3"]
    require((read_a["kind"], read_b["kind"], write_a["kind"]) == ("Read", "Read", "Write"), "these are not its references")
    require(w == a and loops_a == loops_w == [(n - 1, 4), (n - 1, 0)], f"PRSD1 and PRSD3 are {loops_a}, {loops_w}")
    require(loops_b == [(n - 1, 4 * n), (n - 1, 4)], f"PRSD4 is {loops_b}")
    first = [t for t in turns(result) if t[1:3] == (read_a["id"], write_a["id"])]
    require(len(first) == 1 and first[0][3] == (1, 1, 1), f"DS1 is {first}")
    second = [t for t in turns(result) if t[1:3] == (first[0][0], read_b["id"])]
    require(len(second) == 1 and second[0][3] == (1, 2, 1), f"DS2 is {second}")


@case
def table_2_and_figure_6():
    n, tile = 24, 4
    found, _ = products(n, tile)
    read_c, read_a, read_b, write_c = found["product"]
    require([(row["rsds"], row["prsds"], row["iads"]) for row, _ in (read_a, read_b)] == [(1, 2, 0)] * 2, "MM: not one RSD and two PRSDs")
    require([loops for _, loops in read_b[1]] == [[(n, 0), (n, 8), (n, 8 * n)]], f"MM, B: {read_b[1]}")
    require([loops for _, loops in read_a[1]] == [[(n, 8 * n), (n, 0), (n, 8)]], f"MM, A: {read_a[1]}")
    for row, loops in (read_c, write_c):
        require([x for _, x in loops] == [[(n * n, 8), (n, 0)]], f"MM, C: {loops}")
    (row, loops), = found["modulo"]
    require((row["rsds"], row["prsds"]) == (1, 1) and loops[0][1] == [(n, 0), (n, 8)], f"Modulo: {loops}")
    require([(row["rsds"], row["prsds"]) for row, _ in found["tiled"]] == [(1, 4)] * 4, "tiled MM: not one RSD and four PRSDs")


@case
def figure_6_with_the_papers_depth():
    n, tile = 24, 4
    found, _ = products(n, tile, "--depth", "3")
    row, loops = found["tiled"][1]
    start = loops[0][0]
    require((row["rsds"], row["prsds"]) == (n // tile, 3 * n // tile), f"{row['rsds']} RSDs, {row['prsds']} PRSDs")
    wanted = [(start + 8 * tile * i, [(n // tile, 0), (n, 8 * n), (tile, 8), (tile, 0)]) for i in range(n // tile)]
    require(loops == wanted, f"{loops}")


@case
def descriptors_take_the_same_space_for_all_n():
    space = []
    for n in (24, 40, 72):
        found, _ = products(n, 8)
        space.append([(row["rsds"], row["prsds"], row["iads"]) for rows in found.values() for row, _ in rows])
    require(len(space[0]) == 12 and space[0] == space[1] == space[2], f"{space}")


# -- What people read ---------------------------------------------------------------------------------------------------

SENTENCES = {
    "forwards": "read with stride 4 B, 4000 times: sequential",
    "backwards": "written with stride -4 B, 4000 times: sequential, backwards",
    "columns": "read with stride 400 B, 40 times, repeated 50 times at +8 B: column walk of a row-major array",
    "blocks": "read with stride 8 B, 25 times, repeated 40 times at +400 B: row by row",
    "sweeps": "written with stride 4 B, 4000 times, repeated 5 times at the same place: sequential, swept again and again",
    "one_place": "written at one address, 4000 times: one place",
    "keys": "read with stride 16 B, 4000 times: one element of 2",
    "chosen_ones": "read irregularly, 4000 times within 15996 B",
    "triangle": "read in 37 runs, of 21 on average, mostly with stride 8 B: sequential; 3 irregular",
    "taken_from": "read with stride 4 B, 1000 times: sequential",
    "compared": "read with stride 1 B, 900 times: sequential",
}


def rows_of_walks(knobs):
    result = analysis("patterns", record("walks", build("walks", HERE / "walks.c", "-g"), GAIT_STRESS=knobs))
    rows = defaultdict(list)
    for row in result["patterns"]:
        rows[row["function"]].append(row)
    return rows


@case
def sentences():
    for knobs in STRESSES:
        rows = rows_of_walks(knobs)
        for function, sentence in SENTENCES.items():
            said = [row["pattern"] for row in rows[function]]
            require(said.count(sentence) == (2 if function == "compared" else 1), f"{function}, GAIT_STRESS={knobs}: {said}")


@case
def rows_of_threads_operands_and_lines():
    rows = rows_of_walks("")
    threads = [row for row in rows["taken_from"] if row["size"] == 4]
    require([(row["threads"], row["references"], row["covered"]) for row in threads] == [(3, 3000, 100)], f"{threads}")
    operands = [row["operand"] for row in rows["compared"] if row["size"] == 1]
    require(operands == [0, 1], f"operands {operands}")
    source = (HERE / "walks.c").read_text().splitlines()
    lines = [row["line"] for row in rows["columns"] if row["references"] == 2000]
    require(len(lines) == 1 and "matrix[i][j]" in source[lines[0] - 1], f"columns is said to be in lines {lines}")


@case
def shares_are_of_all_references():
    total = analysis("patterns", record("walks", build("walks", HERE / "walks.c", "-g")))["total"]
    require(abs(total["covered"] + total["irregular"] - 100) < 1e-6 and 0 < total["nested"] < total["covered"], f"{total}")


# -- Options ------------------------------------------------------------------------------------------------------------

@case
def what_makes_no_sense_is_refused():
    for options, word in ((["--window", "2"], "from 3"), (["--depth", "12"], "from 0 to 11"), (["--keep", "x"], "number"), (["--keep", "-1"], "number"),
                          (["--unordered", "--expand"], "order"), (["--expand-to", "/nonexistent/x"], "cannot open")):
        run = subprocess.run([GAIT, "patterns", *options, "x.gait"], capture_output=True, text=True)
        require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")


@case
def a_listing_that_cannot_be_written_fails():
    run = subprocess.run([GAIT, "patterns", "--expand-to", "/dev/full", "--json", record("true", "/bin/true")], capture_output=True, text=True)
    require(run.returncode == 1 and '"unwritten": "/dev/full"' in run.stdout, f"status {run.returncode}")


@case
def the_largest_descriptors_are_kept():
    trace = record("walks", build("walks", HERE / "walks.c", "-g"))
    def sizes(keep):
        found = defaultdict(list)
        for row in analysis("patterns", "--keep", str(keep), trace)["descriptors"]:
            found[row["id"], row["thread"]].append(row["references"])
        return {key: sorted(n, reverse=True) for key, n in found.items()}
    every = sizes(1000000)
    require(max(map(len, every.values())) > 100, "hardly any descriptors")
    for keep in (1, 3, 16):
        require(sizes(keep) == {key: n[:keep] for key, n in every.items()}, f"--keep {keep}: not the largest")


@case
def without_order_more_is_regular():
    trace = record("true", "/bin/true")
    ordered, unordered = (analysis("patterns", "--merged", *o, trace)["total"] for o in ([], ["--unordered"]))
    require(unordered["references"] == ordered["references"] and unordered["covered"] > ordered["covered"], f"{ordered}, {unordered}")


if __name__ == "__main__":
    main()
