# SPDX-License-Identifier: MIT
"""Processes to attach to, and what must be the same of them before and after."""
import os
import re
import subprocess
import time
from pathlib import Path

from cases import GAIT, ROOT, build, require

HERE = Path(__file__).resolve().parent
WORK = ROOT / "build/attach"
ROUNDS = int(os.environ.get("ROUNDS", "8"))
GOOD = re.compile(r"ready|round|rounds [\d ]+|rate \d+|ended")


class Program:
    """A program that runs by itself and says `ready`; what else it says than GOOD is a complaint."""

    def __init__(self, name, *argv, command=None, patience=60):
        self.out = WORK / f"{name}.out"
        command = command or [build(name, HERE / f"{name}.c"), *argv]
        with open(self.out, "w") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out)
        self.pid = self.process.pid
        self.patience = patience
        self.wait_for(lambda said: "ready" in said, "it does not begin")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def said(self):
        return self.out.read_text().splitlines()

    def wait_for(self, holds, why):
        end = time.time() + self.patience
        while not holds(self.said()):
            require(time.time() < end and self.process.poll() is None, f"{why}: {self.said()[-3:]}")
            time.sleep(0.02)

    def goes_on(self):
        """It still does what it did."""
        n = self.said().count("round")
        self.wait_for(lambda said: said.count("round") > n, "it stands still")

    def is_unhurt(self, but="ready"):
        bad = [line for line in self.said() if not GOOD.fullmatch(line) and not re.fullmatch(but, line)]
        require(not bad, f"it complains: {bad[:5]}")
        require(self.process.poll() is None, "it has ended")


def wait_until(holds, why, seconds=60):
    """What a process does in a moment, it may not have done yet: a thread that waits for signals shows another mask than on its way there."""
    end = time.time() + seconds
    while not holds():
        require(time.time() < end, why() if callable(why) else why)
        time.sleep(0.01)


def settled(look):
    """What it is, when it is the same twice: threads may just have begun."""
    last = look()
    for _ in range(100):
        time.sleep(0.2)
        now = look()
        if now == last:
            break
        last = now
    return last


def status(pid, *names):
    fields = {}
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name in names:
            fields[name] = value.strip()
    return fields


def traces_of_gait(pid):
    """Mappings and files of gait's in a process."""
    found = [line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if "gait" in line]
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if "memfd:gait" in name:
            found.append(name)
    return found


def traits(pid):
    """What of a process must be the same before and after, whatever it does: who traces it, which signals it handles and ignores, and that
    nothing of gait's is in it."""
    return {**status(pid, "SigCgt", "SigIgn", "TracerPid", "Seccomp"), "gait": traces_of_gait(pid)}


def priorities(pid):
    """Of each thread: priority as the kernel has it now, niceness, real-time priority, policy."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            words = Path(f"/proc/{pid}/task/{tid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        found[tid] = words[15], words[16], words[37], words[38]
    return found


def all_traits(pid):
    """The same of one that keeps its files, threads and masks."""
    return {**traits(pid), "files": sorted(os.listdir(f"/proc/{pid}/fd")), "priorities": priorities(pid),
            "masks": sorted(status(f"{pid}/task/{tid}", "SigBlk")["SigBlk"] for tid in os.listdir(f"/proc/{pid}/task"))}


def attach(pid, *options, output=WORK / "attached.gait", timeout=120):
    return subprocess.run([GAIT, "attach", "-p", str(pid), "-o", output, *options],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)


def attach_again_and_again(pid, check, seconds="0.05", look=all_traits, may_say="", options=()):
    """ROUNDS times; `check` complains if it is hurt. What gait may say: a pattern. What it said."""
    said = []
    before = settled(lambda: look(pid))
    require(before["gait"] == [], "it has pages of gait's before")
    for n in range(ROUNDS):
        run = attach(pid, "--for", seconds, *options)
        require(run.returncode == 0 and re.fullmatch(may_say, run.stderr, re.S), f"round {n}: status {run.returncode}, {run.stderr}")
        said.append(run.stderr)
        check()
        wait_until(lambda: look(pid) == before, lambda: f"round {n}: {before} became {look(pid)}")
    return said
