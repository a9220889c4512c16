# SPDX-License-Identifier: MIT
"""What the cases of tests/cli work with, and how they are told apart: @case, Room, Shared, require."""
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SECONDS = 20
CASES = []


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


class Room:
    """What a case works with: the gait under test and a directory of its own."""

    def __init__(self, gait, shared, place):
        self.gait, self.shared, self.place = str(gait), shared, place

    def path(self, name, data=None, mode=0o644):
        """A path in the case's directory; with data, a file of that content."""
        path = self.place / name
        if data is not None:
            path.write_bytes(data)
            path.chmod(mode)
        return str(path)

    def run(self, *args, prefix=(), cwd=None, **kw):
        """Run gait to its end and return it with `shown`, the command to type."""
        argv = [*prefix, self.gait, *map(str, args)]
        cwd = cwd or self.place
        shown = f"cd {shlex.quote(str(cwd))} && {shlex.join(argv)}"
        kw = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, **kw}
        child = subprocess.Popen(argv, cwd=cwd, stderr=subprocess.PIPE, start_new_session=True, **kw)
        try:
            out, err = child.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            raise Failed(f"did not end within {SECONDS} s\n    {shown}") from None
        done = subprocess.CompletedProcess(argv, child.returncode, out, err.decode(errors="replace"))
        done.shown = shown
        return done

    def passes(self, *args, status=0, **kw):
        """gait ends with the status and has nothing to complain about."""
        done = self.run(*args, **kw)
        require(done.returncode == status, done, f"{ended(done)}, expected {status}")
        require(done.stderr == "", done, "stderr is not empty")
        return done

    def refuses(self, *args, status=1, says="", **kw):
        """gait ends with the status and one sentence that matches `says`."""
        done = self.run(*args, **kw)
        require(done.returncode == status, done, f"{ended(done)}, expected {status}")
        require_sentence(done, says)
        return done

    def survives(self, *args):
        """gait either does its work, perhaps with one remark, or refuses; it does not crash."""
        done = self.run(*args)
        require(done.returncode in (0, 1), done, f"{ended(done)}, expected 0 or 1")
        if done.returncode or done.stderr:
            require_sentence(done)
        return done


def ended(done):
    n = done.returncode
    return f"killed by {signal.Signals(-n).name}" if n < 0 else f"exit status {n}"


def require(holds, done, reason):
    if not holds:
        told = "".join(f"\n    | {line}" for line in done.stderr.splitlines()[:6])
        raise Failed(f"{reason}\n    {done.shown}{told}")


def require_sentence(done, says=""):
    lines = done.stderr.splitlines()
    require(len(lines) == 1, done, f"{len(lines)} lines on stderr, expected one sentence")
    require(re.match(r"gait: \S.{10,}", lines[0]), done, "stderr is no sentence beginning with \"gait: \"")
    require("internal error" not in lines[0], done, "input is no internal error")
    require(re.search(says, lines[0]), done, f"the sentence does not say {says!r}")


class Shared:
    """What many cases use: three tiny programs and the trace of one."""

    def __init__(self, gait, place):
        place.mkdir()
        self.tiny, self.fault, self.flow = (self.build(place, name) for name in ("tiny", "fault", "flow"))
        self.trace = place / "tiny.gait"
        argv = [str(gait), "record", "-o", str(self.trace), "--", self.tiny]
        try:
            done = subprocess.run(argv, capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            sys.exit(f"not ok setup: did not end within {SECONDS} s\n    {shlex.join(argv)}")
        if done.returncode or done.stdout != b"tiny\n" or not self.trace.exists():
            sys.exit(f"not ok setup: cannot record a tiny program: {ended(done)}\n    {shlex.join(argv)}")

    def build(self, place, name):
        out = str(place / name)
        subprocess.run(["gcc", "-nostdlib", "-static", "-no-pie", "-o", out, HERE / f"{name}.S"], check=True)
        return out
