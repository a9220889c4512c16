#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The descriptors of every kernel of bench/kernels, in its smallest size, expand to the references that it made.

    tests/patterns/kernels.py [NAME]...     these kernels, or all; they must have been built (make kernels)
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import ROOT, analysis, case, main, record, require, use  # noqa: E402

use("patterns")


def expands(name):
    def holds():
        trace = record(name, ROOT / "build/kernels" / name, "S")
        for options in ([], ["--merged"]):
            total = analysis("patterns", "--expand", *options, trace)["total"]
            require(total["expanded"] == "yes, all" and total["references"] > 1000000, f"{name} {options}: {total}")
        trace.unlink()
    holds.__name__ = name
    return holds


for source in sorted((ROOT / "bench/kernels").glob("*.c")):
    case(expands(source.stem))

if __name__ == "__main__":
    main()
