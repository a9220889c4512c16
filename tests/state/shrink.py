#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a sequence that differs under gait shorter: replace by nops what is not needed for the difference.

    tests/state/shrink.py [-n TRIES] [-e EVENTS] FILE INDEX    prints what remains; FILE.shrunk keeps it

Each instruction in turn becomes nops, and stays so if the sequence still ends natively and still differs under gait.
TRIES is for differences that do not show every time. GAIT_STRESS is passed on.
"""
import argparse
import pathlib
import struct
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build/state/random_state"
GAIT = ROOT / "build/gait"
HEADER = struct.Struct("<7Q")
HALVES = (0x7b000000, 0x200010000000)


def run(command):
    try:
        p = subprocess.run(command, capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return None
    return p.stdout if p.returncode == 0 else None


def differs(path, index, options):
    native = run([PROGRAM, "show", path, index])
    if native is None or native != run([PROGRAM, "show", path, index]):
        return False
    command = [GAIT, "record", f"--events={options.events}", "--sink=drop", "--", PROGRAM, "show", path, index]
    return any(run(command) != native for _ in range(options.n))


def instructions(path, index):
    """(address, length, text) of each, the addresses behind the code left out."""
    for line in run([PROGRAM, "list", path, index]).decode().splitlines():
        where, text = line.split("  ", 1)
        address, length = where.split(",")
        if not text.startswith("address"):
            yield int(address, 16), int(length), text


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-n", type=int, default=1, help="tries for each replacement")
    p.add_argument("-e", dest="events", default="memory")
    p.add_argument("file")
    p.add_argument("index")
    options = p.parse_args()
    data = bytearray(pathlib.Path(options.file).read_bytes())
    _, _, _, *offset = HEADER.unpack_from(data)
    shrunk = pathlib.Path(options.file + ".shrunk")
    shrunk.write_bytes(data)
    if not differs(shrunk, options.index, options):
        sys.exit("there is no difference")
    for address, length, text in list(instructions(shrunk, options.index)):
        if text == "nop":
            continue
        half = address >= HALVES[1]
        at = offset[half] + address - HALVES[half]
        before = data[at:at + length]
        data[at:at + length] = b"\x90" * length
        shrunk.write_bytes(data)
        if not differs(shrunk, options.index, options):
            data[at:at + length] = before
            shrunk.write_bytes(data)
    for address, length, text in instructions(shrunk, options.index):
        if text != "nop":
            print(f"{address:x},{length}  {text}")


if __name__ == "__main__":
    main()
