# SPDX-License-Identifier: MIT
"""Compares lackey's counts with ours, instruction by instruction, in the program's own image."""

# usage: lackey_counts.py PROGRAM OURS DISAGREEMENTS <lackey's lines
#
# An event belongs to the pc of the I line before it. Only pcs of PROGRAM's own code count: valgrind
# loads libraries elsewhere, and a position-independent program too, which is why offsets from the
# image's base are compared. DISAGREEMENTS says how lackey's counts follow from ours where they are
# known to differ.

import collections
import re
import struct
import subprocess
import sys

OUR_BASE = 0x555555554000  # of a position-independent program without address randomisation
LACKEY_BASE = 0x108000  # where valgrind loads one
KINDS = "ILSM"


class Image:
    """The executable segments of an ELF file, and what objdump says is in them."""

    def __init__(self, path):
        with open(path, "rb") as f:
            head = f.read(64)
            kind, = struct.unpack_from("<H", head, 16)
            self.entry, offset = struct.unpack_from("<QQ", head, 24)
            size, count = struct.unpack_from("<HH", head, 54)
            f.seek(offset)
            segments = [struct.unpack_from("<IIQQQQ", f.read(size)) for _ in range(count)]
        self.ranges = [(v, v + n) for t, flags, _, v, _, n in segments if t == 1 and flags & 1]
        self.moves = kind == 3  # ET_DYN
        self.text, self.symbol = disassemble(path)

    def offset(self, pc, base):
        """The offset of a pc from the image's base, None if it lies elsewhere."""
        at = pc - base if self.moves else pc
        return at if any(a <= at < b for a, b in self.ranges) else None


def disassemble(path):
    """The instruction at each address, and the symbol it belongs to."""
    text, symbol, name = {}, {}, ""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True,
                         text=True, check=True).stdout
    for line in out.splitlines():
        if m := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            name = m.group(1)
        elif m := re.match(r" *([0-9a-f]+):\t(.*)", line):
            at = int(m.group(1), 16)
            text[at], symbol[at] = " ".join(m.group(2).split()), name
    return text, symbol


def count(lines, image, base):
    """How many events of each kind there are at each offset."""
    counts = collections.defaultdict(lambda: dict.fromkeys(KINDS, 0))
    here = None
    for line in lines:
        if line.startswith("I  "):
            at = image.offset(int(line[3:line.index(",")], 16), base)
            here = None if at is None else counts[at]
            if here:
                here["I"] += 1
        elif here and line[0] == " " and line[1] in KINDS:
            here[line[1]] += 1
    if image.entry not in counts:
        sys.exit(f"lackey_counts.py: the entry point {image.entry:#x} was not seen; is the base "
                 f"{base:#x} right?")
    return counts


def read_rules(path):
    """Lines of "where ; pattern ; equations ; reason"."""
    rules = []
    for line in open(path):
        if line.strip() and not line.startswith("#"):
            where, pattern, equations, reason = (x.strip() for x in line.split(" ; "))
            rules.append((where, re.compile(pattern), equations, reason))
    return rules


def expect(image, at, ours, theirs, rules, used):
    """What lackey should have counted, given what we did; "?" takes whatever it counted."""
    subject = {"insn": image.text.get(at, ""), "symbol": image.symbol.get(at, "")}
    for where, pattern, equations, reason in rules:
        if pattern.search(subject[where]):
            used[reason] += 1
            changed = dict(ours)
            for equation in equations.split(","):
                kind, value = (x.strip() for x in equation.split("="))
                changed[kind] = theirs[kind] if value == "?" else eval(value, {}, ours)
            return changed
    return ours


def show(c):
    return " ".join(f"{k}={c[k]}" for k in KINDS)


def main():
    program, ours_path, rules_path = sys.argv[1:]
    image = Image(program)
    rules = read_rules(rules_path)
    lackey = count(sys.stdin, image, LACKEY_BASE)
    with open(ours_path) as f:
        ours = count(f, image, OUR_BASE)
    used = collections.Counter()
    nothing = dict.fromkeys(KINDS, 0)
    bad = 0
    for at in sorted(ours.keys() | lackey.keys()):
        mine, theirs = ours.get(at, nothing), lackey.get(at, nothing)
        if mine != theirs and expect(image, at, mine, theirs, rules, used) != theirs:
            bad += 1
            if bad <= 20:
                print(f"  {at:x} <{image.symbol.get(at, '?')}> {image.text.get(at, '?')}\n"
                      f"      ours   {show(mine)}\n      lackey {show(theirs)}")
    for reason, n in used.most_common():
        print(f"  {n} known: {reason}")
    events = sum(sum(c.values()) for c in ours.values())
    print(f"  {len(ours)} instructions, {events} events of the program's own, {bad} unexplained")
    sys.exit(1 if bad else 0)


main()
