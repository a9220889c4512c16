#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The descriptors of every kernel of bench/kernels, in its smallest size, expand to the references that it made; with ALL=1, those of the
programs of bench/speed too, with small inputs.

    tests/patterns/kernels.py [NAME]...     these, or all; kernels must have been built (make kernels)
"""
import os
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import GAIT, ROOT, analysis, case, main, require, use  # noqa: E402

WORK = use("patterns")
# Of what bench/speed has for its programs, little: the first bytes of what is compressed, a small board.
SIZES = {"gzip": 1, "bzip2": 1, "xz": 1, "cc1": 1, "perl": 20, "python3": 20, "lua5.4": 100, "sqlite3": 2000, "link-parser": 1, "gnugo": 1}
BYTES = 100000


def speed():
    loader = SourceFileLoader("speed", str(ROOT / "bench/speed"))
    module = module_from_spec(spec_from_loader("speed", loader))
    loader.exec_module(module)
    module.BUILD.mkdir(parents=True, exist_ok=True)
    return module


def little(name):
    argv = list(map(str, PROGRAMS.command(name, SIZES[name])))
    if "mixture" in argv[-1]:
        short = WORK / "mixture.bin"
        short.write_bytes(Path(argv[-1]).read_bytes()[:BYTES])
        argv[-1] = short
    if name == "gnugo":
        argv[argv.index("--level") + 1], argv[argv.index("--boardsize") + 1] = "1", "7"
    return argv


def expands(name, command, modes=([], ["--merged"]), given=b""):
    def holds():
        argv = command()
        if not Path(argv[0]).exists():
            print(f"skip: there is no {argv[0]}", flush=True)
            return
        trace = WORK / f"{name}.gait"
        subprocess.run([GAIT, "record", "-o", trace, "--", *argv], input=given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        for options in modes:
            total = analysis("patterns", "--expand", *options, trace)["total"]
            require(total["expanded"] == "yes, all" and total["references"] > 500000, f"{name} {options}: {total}")
        if os.environ.get("ALL"):
            print(f"{name}: {total['references']} references", flush=True)
        trace.unlink()
    holds.__name__ = name
    return holds


for source in sorted((ROOT / "bench/kernels").glob("*.c")):
    case(expands(source.stem, lambda name=source.stem: [ROOT / "build/kernels" / name, "S"]))
if os.environ.get("ALL"):
    PROGRAMS = speed()
    for program in SIZES:
        case(expands(program, lambda name=program: little(name), [[]], PROGRAMS.SENTENCE.encode() if program == "link-parser" else b""))

if __name__ == "__main__":
    main()
