#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Nothing that was sealed is lost: gait or the program is killed at random moments, and a disk fills up; nor does the program suffer.

    run.py [COUNT [SEED]]       COUNT kills of each kind (10); SEED as an earlier run printed it

After each: the file can be read; what is missing is said; --repair gives it an end; a program whose gait was killed goes on to its
own end, with the output it has natively.
"""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GAIT = ROOT / "build/gait"
PROGRAM = ["/usr/bin/perl", str(ROOT / "bench/inputs/work.pl"), "60"]
ENV = dict(os.environ, LC_ALL="C", PERL_HASH_SEED="0")
LIMIT = 120  # seconds for anything

passed = failed = 0


def check(holds, what):
    global passed, failed
    passed, failed = passed + holds, failed + (not holds)
    if not holds:
        print(f"not ok {what}", flush=True)
    return holds


def gait(*args):
    """Run a command of gait; its status, and what it said on either stream."""
    r = subprocess.run([GAIT, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT, errors="replace")
    return r.returncode, r.stdout


def children(pid):
    try:
        return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_held(pid):
    """Is the program still stopped by gait, before its first instruction? Then it may die with gait."""
    try:
        return "TracerPid:\t0\n" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def start(trace, out, program=PROGRAM):
    return subprocess.Popen([GAIT, "record", "-o", trace, "--", *program], stdin=subprocess.DEVNULL, stdout=out,
                            stderr=subprocess.PIPE, text=True, env=ENV, start_new_session=True)


def events_of(trace):
    """The number of events that verify counts, or None."""
    status, said = gait("verify", trace)
    return int(said.split(" events")[0].rsplit(" ", 1)[1]) if status == 0 and " events" in said else None


def examine_interrupted(trace, what):
    """A recording whose gait was killed: readable, said to be interrupted, and whole after a repair."""
    status, said = gait("verify", trace)
    interrupted = status == 1 and "interrupted" in said
    if not check(interrupted or status == 0, f"{what}: verify says {said!r}"):
        return
    status, info = gait("info", trace)
    check(status == 0 and (not interrupted or "interrupted" in info), f"{what}: info says {info[-300:]!r}")
    if interrupted:
        status, said = gait("verify", "--repair", trace)
        check(status == 0 and "repaired" in said and ": ok:" in said, f"{what}: --repair says {said!r}")
        status, said = gait("verify", trace)
        check(status == 0 and "the end is missing" in said, f"{what}: after the repair verify says {said!r}")
        status, again = gait("info", trace)
        same = [l for l in info.splitlines() if l.startswith("instructions")] == [l for l in again.splitlines() if l.startswith("instructions")]
        check(status == 0 and same, f"{what}: the repair has changed what is in the file")


def kill_gait(room, delay, expected):
    """gait dies; the program goes on natively and prints what it always prints."""
    trace, what = room / "x.gait", f"gait killed after {delay:.3f} s"
    with open(room / "out", "wb") as out:
        g = start(trace, out)
        time.sleep(delay)
        programs = children(g.pid)
        held = any(map(is_held, programs))
        g.kill()
        g.wait()
        end = time.monotonic() + LIMIT
        while any(Path(f"/proc/{p}").exists() for p in programs) and time.monotonic() < end:
            time.sleep(0.02)
    check(time.monotonic() < end, f"{what}: the program did not end")
    if programs:  # it had been started
        printed = (room / "out").read_bytes()
        check(printed == expected or (held and not printed), f"{what}: the program printed {len(printed)} bytes, natively {len(expected)}")
    if trace.exists() and trace.stat().st_size >= 16 + 48:
        examine_interrupted(trace, what)


def descendants(pid):
    return [x for child in children(pid) for x in [child, *descendants(child)]]


def kill_gait_in_a_storm(room, delay):
    """gait dies while threads and their forks take signals: each leaves for native code by itself, and all goes on."""
    what = f"gait killed after {delay:.3f} s of forks under signals"
    with open(room / "out", "wb") as out:
        g = start(room / "x.gait", out, ["/bin/sh", "-c", f"{room}/storm 12; echo status $?"])
        time.sleep(delay)
        programs = descendants(g.pid)
        held = any(map(is_held, programs))
        g.kill()
        g.wait()
        end = time.monotonic() + LIMIT
        while any(Path(f"/proc/{p}").exists() for p in programs) and time.monotonic() < end:
            time.sleep(0.02)
    printed = (room / "out").read_text()
    check(time.monotonic() < end, f"{what}: the program did not end")
    check(held or not programs or printed.endswith("all held\nstatus 0\n"), f"{what}: printed {printed[-200:]!r}")


def kill_program(room, delay):
    """The program dies; gait tells so, and the trace is whole."""
    trace, what = room / "x.gait", f"program killed after {delay:.3f} s"
    with open(room / "out", "wb") as out:
        g = start(trace, out)
        time.sleep(delay)
        programs = children(g.pid)
        for p in programs:
            os.kill(p, signal.SIGKILL)
        try:
            g.wait(LIMIT)
        except subprocess.TimeoutExpired:
            g.kill()
            check(False, f"{what}: gait did not end")
            return
    if g.returncode == 0 or not trace.exists():
        return  # it was faster than we, or had not begun
    status, said = gait("verify", trace)
    check(status == 0 and ": ok:" in said, f"{what}: verify says {said!r}")
    check("killed by" in gait("info", trace)[1], f"{what}: info does not tell of the signal")


def fill_disk(room):
    """A file system of 20 MB; the trace is larger."""
    disk = room / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", disk], stderr=subprocess.DEVNULL).returncode:
        print("skipped: a full disk: no tmpfs can be mounted here")
        return
    try:
        trace = disk / "x.gait"
        program = [str(ROOT / "build/kernels/join"), "W"]
        native = subprocess.run(program, stdout=subprocess.PIPE).stdout
        with open(room / "out", "wb") as out:
            g = start(trace, out, program)
            _, err = g.communicate(timeout=10 * LIMIT)
        check(g.returncode != 0 and "No space left" in err, f"a full disk: gait says {err!r}, status {g.returncode}")
        check((room / "out").read_bytes() == native, "a full disk: the program has suffered")
        check(trace.stat().st_size > 15 << 20, "a full disk: most of the trace is missing")
        smaller = room / "x.gait"
        smaller.write_bytes(trace.read_bytes())
        examine_interrupted(smaller, "a full disk")
        check((events_of(smaller) or 0) > 1e6, "a full disk: hardly anything can be read")
    finally:
        subprocess.run(["umount", disk])


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 32)
    dice = random.Random(seed)
    print(f"seed {seed}")
    expected = subprocess.run(PROGRAM, stdout=subprocess.PIPE, env=ENV, check=True).stdout
    with tempfile.TemporaryDirectory(prefix="gait-crash-") as name:
        room = Path(name)
        begin = time.monotonic()
        with open(room / "out", "wb") as out:
            check(start(room / "x.gait", out).wait(LIMIT) == 0, "the program ran to its end")
        whole = time.monotonic() - begin
        for _ in range(count):
            kill_gait(room, dice.uniform(0, 1.1 * whole), expected)
            kill_program(room, dice.uniform(0, 1.1 * whole))
        storm = ROOT / "tests/programs/fork_under_threads_and_signals.c"
        subprocess.run(["gcc", "-O2", "-pthread", "-o", room / "storm", storm], check=True)
        for _ in range(count // 3 + 1):
            kill_gait_in_a_storm(room, dice.uniform(0, 3))
        fill_disk(room)
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
