#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""gait cache and valgrind's cachegrind, of the same shape, on programs that do the same in every run.

    tests/cache/witness.py [KERNEL]...

They cannot agree to the last reference: valgrind loads libraries of its own into the program, shows it another processor and
another stack, and its loader does other work; that is some thousand references, and other addresses. So references may differ by
0.1 %, misses by 0.5 %. The programs lie at the same addresses in both: where their data is, modulo the size of a cache, decides what it evicts.
"""
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
WORK = ROOT / "build/cache"
SHAPES = ["--I1=32768,8,64", "--D1=32768,8,64", "--LL=2097152,16,64"]
KERNELS = ["is", "cg", "matmul", "tiled", "mg"]
# The string functions that both would choose, since valgrind knows no AVX-512; and memory from behind the program.
ENV = dict(os.environ, GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD,-ERMS,-FSRM:"
                                      "glibc.malloc.mmap_threshold=4294967296")


def build(name):
    WORK.mkdir(parents=True, exist_ok=True)
    program = WORK / f"{name}-fixed"
    subprocess.run(["gcc", "-O2", "-std=gnu11", "-no-pie", "-o", program, ROOT / f"bench/kernels/{name}.c", "-lm"], check=True)
    return program


def by_gait(program):
    out = subprocess.run(["setarch", "-R", ROOT / "build/gait", "cache", "--json", "--top", "0", *SHAPES, "--", *program],
                         env=ENV, check=True, stdout=subprocess.PIPE, text=True).stdout
    n = json.loads(out.splitlines()[-1])["total"]
    return {"I refs": n["Ir"], "D refs": n["Dr"] + n["Dw"], "D1 misses": n["D1mr"] + n["D1mw"], "LLd misses": n["DLmr"] + n["DLmw"]}


def by_cachegrind(program):
    err = subprocess.run(["setarch", "-R", "valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
                          *SHAPES, *program], env=ENV, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    lines = re.findall(r"== (I +refs|D +refs|D1 +misses|LLd misses): +([\d,]+)", err)
    return {re.sub(" +", " ", name): int(n.replace(",", "")) for name, n in lines}


def main():
    if not shutil.which("valgrind"):
        print("not ok: valgrind is missing; scripts/deps installs it")
        return 1
    failed = passed = 0
    for name in sys.argv[1:] or KERNELS:
        program = [build(name), "S"]
        ours, theirs = by_gait(program), by_cachegrind(program)
        for what in ("I refs", "D refs", "D1 misses", "LLd misses"):
            differs = abs(ours[what] - theirs[what]) / theirs[what]
            good = differs <= (0.001 if "refs" in what else 0.005)
            passed, failed = passed + good, failed + (not good)
            print(f"{'' if good else 'not ok '}{name} {what}: {ours[what]}, cachegrind {theirs[what]}, {100 * differs:.3f} %", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
