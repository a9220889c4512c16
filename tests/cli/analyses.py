# SPDX-License-Identifier: MIT
"""The cases of tests/cli about what gait formats and gait paths compute: by hand, from gait dump, objdump and addr2line."""
import bz2
import json
import os
import re
import shlex
import struct
import subprocess
from pathlib import Path

from room import Failed, HERE, case, require

# -- What the same execution takes in other forms ----------------------------------------------------------------------

def formats(room, trace, *options):
    """What gait formats says: its numbers, and the sizes of each form by name."""
    said = json.loads(room.passes("formats", "--json", *options, trace).stdout)
    return said, {f["name"]: f for f in said["formats"]}


def branches(program):
    """The branches of a program as objdump shows it, by pc: their mnemonics and operands."""
    shown = subprocess.run(["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True)
    lines = re.findall(r"^ *([0-9a-f]+):\t(\S+) *(.*)$", shown.stdout, re.M)
    return {int(pc, 16): (name, operands) for pc, name, operands in lines
            if re.match(r"j|call|ret|loop|syscall", name)}


class Events:
    """What the events of a program's one thread say of its blocks, branches and references."""

    def __init__(self, room, trace, program):
        dump = room.passes("dump", "--format=lackey", trace).stdout.decode().splitlines()
        places = [(line[0], *line[3:].split(",")) for line in dump]
        self.references = [int(a, 16) for kind, a, size in places if kind == " "]
        insns = [(int(a, 16), int(size)) for kind, a, size in places if kind == "I"]
        branch = branches(program)
        self.instructions = len(insns)
        self.blocks, self.bits, self.targets = [], [], []
        before = ("jmp", "*")
        for (pc, size), (after, _) in zip(insns, insns[1:] + [(0, 0)]):
            name, operands = before
            if name:
                self.blocks.append(pc)
            if name == "ret" or "*" in operands:
                self.targets.append(pc)
            before = name, operands = branch.get(pc, ("", ""))
            if name.startswith(("j", "loop")) and not name.startswith("jmp"):
                self.bits.append(after != pc + size)


def packed(form, numbers):
    size = struct.calcsize(form)
    return b"".join(struct.pack(form, n & (1 << 8 * size) - 1) for n in numbers)


def tags(names):
    """DEP_C: names of 32 bits as tags of 16."""
    high, out = None, []
    for name in names:
        if name >> 16 != high:
            high = name >> 16
            out += [0, high]
        out += [0] * (name & 0xffff == 0) + [name & 0xffff]
    return out


def expected_profiles(events):
    """The bytes of each form that follows from the events."""
    numbers = {}
    for pc in events.blocks:
        numbers.setdefault(pc, 0x10000 + len(numbers))
    return {
        "BB_pc4": packed("<I", events.blocks), "BB_pc8": packed("<Q", events.blocks),
        "DEP_C": packed("<H", tags(numbers[pc] for pc in events.blocks)),
        "DEP_C_pc": packed("<H", tags(events.blocks)),
        "Mem_addr4": packed("<I", events.references), "Mem_addr8": packed("<Q", events.references),
    }


@case
def formats_count_what_is_known_by_hand(room):
    room.passes("record", "-o", "x.gait", "--", room.shared.flow)
    said, sizes = formats(room, "x.gait")
    known = {"instructions": 58, "blocks": 25, "different_blocks": 11, "conditional_branches": 10, "targets": 9,
             "references": 41, "changed_registers": 27}
    for name, n in known.items():
        if said[name] != n:
            raise Failed(f"{name} is {said[name]}, should be {n}")
    known = {"BB_pc4": 4 * 25, "BB_pc8": 8 * 25, "DEP_C": 2 * (2 + 1 + 25), "DEP_C_pc": 2 * (2 + 25),
             "CF_bit4": 2 + 4 * 9, "CF_bit8": 2 + 8 * 9, "Mem_addr4": 4 * 41, "Mem_addr8": 8 * 41, "DEP_M_regs": 8 * 27}
    for name, n in known.items():
        if sizes[name]["bytes"] != n:
            raise Failed(f"{name} takes {sizes[name]['bytes']} bytes, should take {n}")


@case
def formats_agree_with_the_events(room):
    for program in (room.shared.tiny, room.shared.flow):
        room.passes("record", "-o", "x.gait", "--", program)
        said, sizes = formats(room, "x.gait")
        events = Events(room, "x.gait", program)
        for name, data in expected_profiles(events).items():
            for form, n in (("bytes", len(data)), ("bzip2", len(bz2.compress(data, 9)))):
                if sizes[name][form] != n:
                    raise Failed(f"{program}: {name} has {sizes[name][form]} {form}, the events give {n}")
        bits = sum(b << i for i, b in enumerate(events.bits)).to_bytes((len(events.bits) + 7) // 8, "little")
        for name, form in (("CF_bit4", "<I"), ("CF_bit8", "<Q")):
            targets = packed(form, events.targets)
            n = len(bz2.compress(bits, 9)) + len(bz2.compress(targets, 9))
            if sizes[name]["bytes"] != len(bits + targets) or sizes[name]["bzip2"] != n:
                raise Failed(f"{program}: {name} is {sizes[name]}, the events give {len(bits + targets)} and {n}")
        if said["instructions"] != events.instructions:
            raise Failed(f"{program}: {said['instructions']} instructions, the events are {events.instructions}")


@case
def formats_agree_with_info_and_the_file(room):
    trace = room.shared.trace
    info = json.loads(room.passes("info", "--json", trace).stdout)
    said, sizes = formats(room, trace)
    dump = room.passes("dump", trace).stdout.decode()
    guest = [len(line.split()) - 3 for line in dump.splitlines() if re.match(r" *\d+ +- ", line)]
    states = len(re.findall(r" - +state ", dump))
    slots = (info["record_bytes"] - 4 * info["records"]) // 8 - sum(guest) + 3 * states
    wanted = {"REP": info["record_bytes"], "DEP_M": 8 * slots, "file": info["file_bytes"],
              "Mem_addr8": 8 * (info["loads"] + info["stores"] + info["modifies"])}
    for name, n in wanted.items():
        if sizes[name]["bytes"] != n:
            raise Failed(f"{name} takes {sizes[name]['bytes']} bytes, should take {n}")
    if sizes["records"]["zstd"] + sizes["units"]["zstd"] >= sizes["file"]["bytes"]:
        raise Failed("records and units take more than the file")


@case
def formats_do_not_depend_on_how_units_are_cut(room):
    told = []
    for stress in ("", "single", "blocks", "tinybuf", "hot,tinybuf"):
        room.passes("record", "-o", "x.gait", "--", "/bin/true", prefix=["setarch", "-R"],
                    env={"PATH": os.environ["PATH"], "GAIT_STRESS": stress})
        said, sizes = formats(room, "x.gait")
        told.append([said[n] for n in ("instructions", "blocks", "different_blocks", "targets", "changed_registers")]
                    + [sizes[n] for n in ("BB_pc8", "DEP_C", "DEP_C_pc", "CF_bit8")] + [sizes["Mem_addr8"]["bytes"]])
    for other in told[1:]:
        if other != told[0]:
            raise Failed(f"cut otherwise, the forms are {other}, not {told[0]}")


@case
def sequitur_in_parts_is_told(room):
    said, sizes = formats(room, room.shared.trace, "--sequitur-limit=50", "--with=sequitur")
    if said["sequitur_parts"] < 2:
        raise Failed("160 blocks fit into one part of 50")
    done = room.passes("formats", "--sequitur-limit=50", "--with=sequitur", room.shared.trace)
    require(b"parts of 50 symbols" in done.stdout, done, "does not tell of the parts")
    whole = formats(room, room.shared.trace, "--with=sequitur")[1]
    require(whole["BB_pc8"]["sequitur"] < sizes["BB_pc8"]["sequitur"], done, "parts are no larger than the whole")


# -- Paths -------------------------------------------------------------------------------------------------------------

def build_hot(room, *options):
    """A program with a hot loop, and the lines of its source that say so."""
    out = room.path("hot")
    subprocess.run(["gcc", "-O1", "-g", "-Wl,--build-id", *options, "-o", out, HERE / "hot.c"], check=True)
    source = (HERE / "hot.c").read_text().splitlines()
    return out, [n for n, line in enumerate(source, 1) if "the loop's" in line]


def paths(room, trace, *options):
    return json.loads(room.passes("paths", "--json", *options, trace).stdout)


@case
def hot_path_has_its_function_and_lines(room):
    program, lines = build_hot(room)
    # Without hot units: whether the loop becomes one before it ends, unrolled, depends on the machine's load.
    room.passes("record", "-o", "x.gait", "--", program, env=dict(os.environ, GAIT_STRESS="cold"))
    said = paths(room, "x.gait")
    hot = said["paths"][0]
    step, = hot["steps"]
    named = step["function"], Path(step["file"]).name, os.path.samefile(step["module"], program)
    if named != ("inner", "hot.c", True) or not lines[0] <= step["line"] <= step["last_line"] <= lines[1]:
        raise Failed(f"the hot path is {step}, not lines {lines} of inner")
    if not 48000 <= hot["runs"] <= 50000 or hot["units"] != 1:
        raise Failed(f"the loop ran about 49000 times, not {hot['runs']}")
    events = room.passes("dump", "--format=lackey", "x.gait").stdout.decode()
    often = [pc for pc in set(re.findall(r"^I  (\S+),", events, re.M)) if events.count(f"\nI  {pc},") == 50000]
    if hot["instructions"] != len(often):
        raise Failed(f"the loop has {len(often)} instructions, not {hot['instructions']}")
    text = room.passes("paths", "x.gait").stdout.decode()
    if not re.search(rf"^ *{hot['percent']:.1f} % +{hot['total']} +{hot['runs']} +{hot['instructions']}  inner hot.c:\d", text, re.M):
        raise Failed(f"the text does not say the same:\n{text}")


@case
def paths_cover_every_instruction_once(room):
    program, _ = build_hot(room)
    commands = [[room.shared.tiny], [room.shared.flow], [program], ["/bin/sh", "-c", "/bin/true; exit 0"],
                ["/usr/bin/python3", "-c", "import threading as t; [t.Thread(target=sum, args=([1],)).start() for i in 'abc']"]]
    for argv in commands:
        room.passes("record", "-o", "x.gait", "--", *argv)
        info = json.loads(room.passes("info", "--json", "x.gait").stdout)
        for longest in ("1", "3", "100", "100000000"):
            said = paths(room, "x.gait", "--thread=all", "--top=2000000" if longest == "3" else "--top=50",
                         f"--longest={longest}")
            if said["instructions"] != info["instructions"]:
                raise Failed(f"{argv}: {said['instructions']} instructions in paths, {info['instructions']} in all")
            covered = sum(p["runs"] * p["instructions"] for p in said["paths"])
            if longest == "3" and covered != info["instructions"]:
                raise Failed(f"{argv}: the paths cover {covered} of {info['instructions']} instructions")
            for p in said["paths"]:
                if p["total"] != p["runs"] * p["instructions"] or p["units"] > int(longest) \
                        or sum(s["instructions"] for s in p["steps"]) != p["instructions"]:
                    raise Failed(f"{argv}: the path {p} does not add up")


@case
def grammar_expands_to_the_instructions(room):
    program, _ = build_hot(room)
    for argv in ([room.shared.tiny], [room.shared.flow], [program]):
        room.passes("record", "-o", "x.gait", "--", *argv)
        dump = room.passes("dump", "--format=lackey", "x.gait").stdout.decode()
        insns = [int(pc, 16) for pc in re.findall(r"^I  (\S+),", dump, re.M)]
        rules = {}
        for line in room.passes("paths", "--grammar", "x.gait").stdout.decode().splitlines():
            name, _, weight = line.partition(":")[0].split()
            rules[name] = [pc for s in line.partition(":")[2].split() for pc in (rules[s] if s in rules else [s])]
            if int(weight) != sum(int(s.partition("/")[2]) for s in rules[name]):
                raise Failed(f"{argv}: {name} does not have {weight} instructions")
        at = 0
        for pc, _, n in (s.partition("/") for s in rules[name]):
            if insns[at] != int(pc, 16):
                raise Failed(f"{argv}: instruction {at} is at {insns[at]:x}, in the grammar at {pc}")
            at += int(n)
        if at != len(insns):
            raise Failed(f"{argv}: the grammar makes {at} instructions of {len(insns)}")
        body = [r["body"] for r in paths(room, "x.gait", "--grammar")["grammar"]]
        if len(body) != len(rules):
            raise Failed(f"{argv}: {len(body)} rules in JSON, {len(rules)} as text")


@case
def steps_agree_with_addr2line(room):
    program, _ = build_hot(room)
    room.passes("record", "-o", "x.gait", "--", program)
    steps = [s for p in paths(room, "x.gait", "--longest=1", "--top=5000")["paths"] for s in p["steps"]
             if s["module"] and Path(s["module"]).name == "hot" and s["function"]]
    if len(steps) < 4:
        raise Failed(f"only {len(steps)} steps are in hot")
    for s in steps:
        asked = ["addr2line", "-f", "-e", program, hex(s["offset"])]
        function, place = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")[:2]
        file, _, line = place.partition(" ")[0].rpartition(":")
        if function != "??" and function != s["function"]:
            raise Failed(f"{shlex.join(asked)} says {function}, gait {s['function']}")
        if file != "??" and line.isdigit() and (Path(file).name != Path(s["file"]).name or not s["line"] <= int(line) <= s["last_line"]):
            raise Failed(f"{shlex.join(asked)} says {place}, gait {s['file']}:{s['line']}")


@case
def file_that_changed_is_told_and_not_used(room):
    program, _ = build_hot(room)
    room.passes("record", "-o", "x.gait", "--", program)
    build_hot(room, "-DROUNDS=60")
    for reason in ("build id", "cannot be opened"):
        said = paths(room, "x.gait")
        troubles = [f["trouble"] for f in said["files"] if f["path"].endswith("/hot")]
        if len(troubles) != 1 or reason not in (troubles[0] or ""):
            raise Failed(f"the trouble with the file is {troubles}, should be {reason}")
        step = said["paths"][0]["steps"][0]
        if step["function"] or step["file"] or not step["module"].endswith("/hot"):
            raise Failed(f"the code of another file is shown as {step}")
        done = room.passes("paths", "x.gait")
        require(re.search(rf"  hot\+0x{step['offset']:x}-0x{step['last_offset']:x}\n".encode(), done.stdout), done,
                "does not show module and offset")
        require(reason.encode() in done.stdout, done, "does not tell why")
        Path(program).unlink(missing_ok=True)


@case
def paths_of_a_thread_that_is_not_there_are_refused(room):
    room.refuses("paths", "--thread=1", room.shared.trace, says="no thread 1")
    room.refuses("paths", "--thread=99999999999", room.shared.trace, says="no thread")


@case
def paths_stop_at_the_limit_and_say_so(room):
    done = room.passes("paths", "--limit=10", room.shared.trace)
    require(b"first 10 exits" in done.stdout, done, "does not tell of the limit")
    said = paths(room, room.shared.trace, "--limit=10")
    require(said["limited"] and said["exits"] == 10, done, f"looked at {said['exits']} exits")
