#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Run gait on bad input: it ends by itself, with the right status, and says what is wrong in one sentence.

Each case is a function; its name is the claim. A case works in a directory of its own, which is kept when it fails.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import analyses  # noqa: F401, its cases are among CASES
from room import CASES, Failed, ROOT, Room, SECONDS, Shared, Skipped, case, ended, require, require_sentence

READERS = [["info"], ["dump"], ["paths"], ["formats"], ["verify"], ["export", "--to", "csv"], ["export", "--to", "champsim"]]


# -- Programs that cannot be run ---------------------------------------------------------------------------------------

@case
def missing_program_is_refused(room):
    room.refuses("record", "--", "./no-such-program", says="no-such-program")
    room.refuses("record", "--", "no-such-program-in-path", says="no-such-program-in-path")


@case
def program_that_is_not_executable_is_refused(room):
    path = room.path("plain.txt", b"hello\n")
    room.refuses("record", "--", path, says="plain.txt")
    room.refuses("record", "--", room.path("empty", b"", 0o755), says="empty")


@case
def directory_as_program_is_refused(room):
    room.refuses("record", "--", str(room.place), says=re.escape(room.place.name))


@case
def script_without_its_interpreter_is_refused(room):
    path = room.path("script", b"#!/no/such/interpreter\n", 0o755)
    room.refuses("record", "--", path, says="script")


@case
def limits_on_memory_are_the_programs_own(room):
    """gait takes them off itself, if it may; else it says so."""
    prints = ("record", "--events=none", "--", "sh", "-c", "ulimit -v; ulimit -d")
    done = room.run(*prints, prefix=("bash", "-c", 'ulimit -Sv 3000000 -Sd 2000000; exec "$0" "$@"'))
    require(done.returncode == 0 and done.stdout == b"3000000\n2000000\n", done, f"{ended(done)}, {done.stdout}")
    limited = ("bash", "-c", 'ulimit -v 3000000; exec "$0" "$@"')
    may_lift = subprocess.run([*limited, "bash", "-c", "ulimit -v unlimited"], stderr=subprocess.DEVNULL).returncode == 0
    if may_lift:
        done = room.run(*prints, prefix=limited)
        require(done.returncode == 0 and done.stdout == b"3000000\nunlimited\n", done, f"{ended(done)}, {done.stdout}")
    else:
        room.refuses(*prints, prefix=limited, says="address space.*2929 MB.*ulimit")


def elf32():
    """A whole program for i386 that exits with 0."""
    code = bytes.fromhex("31db" "b801000000" "cd80")
    base, start = 0x08048000, 52 + 32
    head = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9)
    head += struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + start, 52, 0, 0, 52, 32, 1, 40, 0, 0)
    size = start + len(code)
    return head + struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 0x1000) + code


@case
def program_of_32_bits_is_refused(room):
    path = room.path("elf32", elf32(), 0o755)
    room.refuses("record", "--", path, says="elf32")
    room.refuses("record", "--events=none", "--", path, says="elf32")


@case
def program_of_another_machine_is_refused(room):
    data = bytearray(Path("/bin/true").read_bytes())
    data[18:20] = struct.pack("<H", 183)  # EM_AARCH64
    room.refuses("record", "--", room.path("arm", data, 0o755), says="arm")


@case
def truncated_program_is_refused(room):
    data = Path("/bin/true").read_bytes()
    for n in (1, 4, 40, 64, 100):
        path = room.path(f"cut-{n}", data[:n], 0o755)
        room.refuses("record", "--", path, says=f"cut-{n}")


@case
def program_cut_after_its_headers_dies_as_it_does_alone(room):
    data = Path("/bin/true").read_bytes()
    path = room.path("cut", data[:len(data) // 2], 0o755)
    alone = subprocess.run([path], capture_output=True, check=False).returncode
    done = room.run("record", "-o", "cut.gait", "--", path)
    require(done.returncode in (alone, 128 - alone, 1), done, f"{ended(done)}, alone {alone}")


# -- Places that cannot be written -------------------------------------------------------------------------------------

@case
def unwritable_output_is_refused_before_the_program_runs(room):
    for out in ("no/such/dir/x.gait", "/proc/x.gait", str(room.place)):
        room.refuses("record", "-o", out, "--", "/usr/bin/touch", "ran", says=re.escape(out))
        if (room.place / "ran").exists():
            raise Failed(f"the program ran although {out} cannot be written")


@case
def full_disk_is_told_and_what_was_sealed_is_kept(room):
    disk = room.place / "disk"
    disk.mkdir()
    mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True, text=True)
    if mount.returncode:
        raise Skipped(f"cannot mount a tmpfs: {mount.stderr.partition(chr(10))[0]}")
    try:
        out = str(disk / "x.gait")
        room.refuses("record", "-o", out, "--", "/usr/bin/python3", "-c", "pass", says=re.escape(out))
        for reader in READERS:
            room.survives(*reader, out)
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)


@case
def full_device_is_told(room):
    room.refuses("record", "-o", "/dev/full", "--", "/bin/true", says="/dev/full")
    with open("/dev/full", "wb") as full:
        for reader in (["info"], ["dump"], ["export", "--to", "din"], ["paths"], ["formats"]):
            room.refuses(*reader, room.shared.trace, stdout=full)
    room.refuses("export", "--to", "lackey", "-o", "/dev/full", room.shared.trace, says="/dev/full")


@case
def reader_that_goes_away_is_no_error(room):
    for reader in ("dump", "export --to csv"):
        shown = f"{shlex.quote(room.gait)} {reader} {shlex.quote(str(room.shared.trace))} | head -n 1"
        done = subprocess.run(["timeout", str(SECONDS), "sh", "-c", shown], capture_output=True, text=True)
        done.shown = shown
        require(done.returncode == 0, done, ended(done))
        require(done.stderr == "", done, "stderr is not empty")


# -- Traces that are none ----------------------------------------------------------------------------------------------

@case
def file_that_is_no_trace_is_refused(room):
    room.path("empty", b"")
    room.path("text", b"This is not a trace.\n" * 100)
    room.path("zeros", bytes(5000))
    room.path("magic-only", b"GAITTRC\0")
    room.path("magic-and-text", b"GAITTRC\0" + b"\1\0\0\0\0\0\0\0" + b"This is not a chunk.\n" * 100)
    for name in ("empty", "text", "zeros", "magic-only", "magic-and-text", "/bin/true", "/dev/null"):
        for reader in READERS:
            room.refuses(*reader, name, says=re.escape(name))


@case
def missing_trace_is_refused(room):
    for reader in READERS:
        room.refuses(*reader, "no-such.gait", says="no-such.gait")


@case
def directory_as_trace_is_refused(room):
    for reader in READERS:
        room.refuses(*reader, str(room.place), says=re.escape(room.place.name))


@case
def newer_version_is_refused_and_named(room):
    data = bytearray(room.shared.trace.read_bytes())
    version, = struct.unpack_from("<I", data, 8)
    for newer in (version + 1, 1000, 0xffffffff):
        struct.pack_into("<I", data, 8, newer)
        name = f"newer-{newer}.gait"
        room.path(name, data)
        for reader in READERS:
            room.refuses(*reader, name, says=rf"version.*\b{newer}\b")


def spread(n, dense, count):
    """Every place below `dense`, then `count` more up to n, evenly."""
    return sorted(set(range(min(dense, n))) | {n * k // count for k in range(count)})


def each(places, do):
    """Do it at all the places, several at a time; the first failure ends it."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            for done in concurrent.futures.as_completed([pool.submit(do, n) for n in places]):
                done.result()
        finally:
            pool.shutdown(cancel_futures=True)


@case
def cut_trace_gives_its_beginning_or_is_refused(room):
    data = room.shared.trace.read_bytes()
    whole = room.passes("dump", "--format=lackey", room.shared.trace).stdout

    def cut(n):
        path = room.path(f"cut-{n}.gait", data[:n])
        done = room.survives("dump", "--format=lackey", path)
        require(whole.startswith(done.stdout), done, "dumps what the whole trace does not begin with")
        exported = room.survives("export", "--to", "lackey", path)
        require(exported.stdout == done.stdout, exported, "exports something else than it dumps")
        room.survives("export", "--to", "champsim", path)
        require(n >= 16 or done.returncode == 1, done, "accepts a trace without a whole header")
        room.survives("info", path)
        room.survives("formats", "--with=none", path)
        room.survives("paths", path)
        room.survives("verify", path)
        os.unlink(path)
    each(spread(len(data), 100, 150), cut)


@case
def a_dump_begins_where_it_is_told(room):
    """Several chunks, of several processes: what --from leaves out is what stands before, whichever way it is counted."""
    room.passes("record", "-o", "x.gait", "--", "/bin/sh", "-c", "/bin/true; /bin/echo a; /bin/true")
    for only in ([], ["--process", "4"], ["--thread", "2"]):
        whole = room.passes("dump", *only, "--format=lackey", "x.gait").stdout.decode().splitlines()
        starts = [i for i, line in enumerate(whole) if line[0] == "I"]
        for n in (1, 77, len(starts) // 2, len(starts) - 1):
            done = room.passes("dump", *only, "--format=lackey", "--from", f"instruction:{n}", "x.gait")
            require(done.stdout.decode().splitlines() == whole[starts[n]:], done, f"does not begin with instruction {n} {only}")
        text = room.passes("dump", *only, "x.gait").stdout.decode().splitlines()[1:]
        stamps = [(i, int(line.split()[-1], 16)) for i, line in enumerate(text) if re.match(r" *\d+ +- +syscall ", line)]
        for line, stamp in (stamps[0], stamps[len(stamps) // 2], stamps[-1]) if only else ():  # else times are not in order
            done = room.passes("dump", *only, "--from", f"time:{stamp}", "x.gait")
            require(done.stdout.decode().splitlines()[1:] == text[line:], done, f"does not begin at time {stamp}")
        for n in (1, 50) if only else (1, 50, 3000):  # a thread may be no more than a fork
            done = room.passes("dump", *only, "--from", f"record:{n}", "x.gait")
            found = done.stdout.decode().splitlines()[1:]
            require(text[-len(found):] == found and n <= len(text) - len(found), done, f"does not begin with record {n}")
        guests = [i for i, line in enumerate(text) if re.match(r" *\d+ +- ", line)]
        require(guests[0] == 0, done, "a thread does not begin with its state")
        after = room.passes("dump", *only, "--from", "record:1", "x.gait").stdout.decode().splitlines()[1:]
        require(after == text[1:], done, "record 1 is not what follows the first record")
    room.refuses("dump", "--from", "record:99999999", "x.gait", says="ends before")
    room.refuses("dump", "--from", "line:3", "x.gait", status=2, says="--from takes")


@case
def flipped_bit_is_found_by_verify(room):
    data = room.shared.trace.read_bytes()

    def flip(n):
        bad = bytearray(data)
        bad[n] ^= 1 << n % 8
        path = room.path(f"flipped-{n}.gait", bad)
        room.refuses("verify", path, says=f"flipped-{n}.gait")
        room.survives("info", path)
        room.survives("export", "--to", "champsim", path)
        room.survives("dump", path)
        room.survives("formats", "--with=none", path)
        room.survives("paths", path)
        os.unlink(path)
    each(spread(len(data), 120, 150), flip)


@case
def bytes_after_the_end_are_found_by_verify(room):
    path = room.path("longer.gait", room.shared.trace.read_bytes() + b"more")
    room.refuses("verify", path, says="longer.gait")
    room.survives("info", path)
    room.survives("dump", path)


# -- Command lines that mean nothing -----------------------------------------------------------------------------------

@case
def command_line_that_means_nothing_is_a_usage_error(room):
    trace = room.shared.trace
    room.refuses(status=2)
    room.refuses("frobnicate", status=2, says="frobnicate")
    room.refuses("--frobnicate", status=2, says="--frobnicate")
    for reader in READERS:
        room.refuses(*reader, status=2)
        room.refuses(*reader, trace, "one-too-many", status=2, says="one-too-many|one trace")
        room.refuses(*reader, "--frobnicate", trace, status=2, says="--frobnicate")
    room.refuses("record", status=2)
    room.refuses("record", "--", status=2)
    room.refuses("record", "--stats", status=2)
    room.refuses("record", "-o", status=2, says="-o")
    room.refuses("record", "--frobnicate", "--", "/bin/true", status=2, says="--frobnicate")
    room.refuses("record", "--events=everything", "--", "/bin/true", status=2, says="everything")
    room.refuses("record", "--follow=perhaps", "--", "/bin/true", status=2, says="perhaps")
    room.refuses("record", "--sink=kitchen", "--", "/bin/true", status=2, says="kitchen")
    room.refuses("dump", "--format=xml", trace, status=2, says="xml")
    room.refuses("dump", "--limit", status=2, says="limit")
    room.refuses("export", trace, status=2, says="--to.*champsim")
    room.refuses("export", "--to=xml", trace, status=2, says="xml.*champsim")
    room.refuses("export", "--to", status=2, says="to")
    room.refuses("export", "--to=csv", "-o", status=2, says="-o")
    for option in ("thread", "process"):
        for n in ("first", "-1", "", "1x", "99999999999999999999999"):
            room.refuses("export", "--to=csv", f"--{option}={n}", trace, status=2, says=option)
    for n in ("many", "-1", "", "12x", "99999999999999999999999"):
        room.refuses("dump", f"--limit={n}", trace, status=2, says="limit")
        room.refuses("formats", f"--sequitur-limit={n}", trace, status=2, says="sequitur-limit")
        for option in ("top", "longest", "limit", "thread"):
            room.refuses("paths", f"--{option}={n}", trace, status=2, says=f"--{option}")
    for option in ("longest", "limit"):
        room.refuses("paths", f"--{option}=0", trace, status=2, says=f"--{option}")
    room.refuses("formats", "--sequitur-limit=0", trace, status=2, says="sequitur-limit")
    room.refuses("formats", "--with=gzip", trace, status=2, says="gzip")
    room.refuses("formats", "--with=", trace, status=2, says="--with")


@case
def help_and_version_are_no_errors(room):
    for word in ("--help", "--version"):
        done = room.passes(word)
        require(done.stdout.startswith((b"gait", b"usage")), done, "prints neither usage nor version")


# -- What passes through -----------------------------------------------------------------------------------------------

@case
def exit_status_passes_through(room):
    for events in ("none", "control", "memory"):
        for status in (0, 1, 2, 7, 255):
            room.passes("record", f"--events={events}", "-o", "x.gait", "--", "/bin/sh", "-c", f"exit {status}", status=status)
    room.passes("verify", "x.gait")


@case
def script_runs_in_its_interpreter(room):
    path = room.path("script", b"#!/bin/sh\nexit $1\n", 0o755)
    room.passes("record", "-o", "x.gait", "--", path, "5", status=5)


@case
def fatal_signal_passes_through(room):
    commands = [[room.shared.fault]] + [["/bin/sh", "-c", f"kill -{s} $$"] for s in ("SEGV", "KILL", "TERM", "ABRT")]
    for argv in commands:
        alone = subprocess.run(argv, check=False).returncode
        done = room.run("record", "-o", "x.gait", "--", *argv)
        require(done.returncode in (alone, 128 - alone), done, f"{ended(done)}, alone {alone}")
        if done.stderr:
            require_sentence(done)
        room.passes("verify", "x.gait")


def wait_until(what, reason):
    deadline = time.monotonic() + SECONDS
    while not what():
        if time.monotonic() > deadline:
            raise Failed(reason())
        time.sleep(0.02)


@case
def gait_killed_lets_the_program_finish(room):
    script = '$| = 1; print "on\\n"; my %h; $h{$_ % 1009} += $_ for 1..1500000; print scalar(keys %h), "\\n"'
    argv = [room.gait, "record", "-o", "x.gait", "--", "/usr/bin/perl", "-e", script]
    for delay in (0, 0.1, 0.3):
        out = room.place / f"out{delay}"
        with open(out, "wb") as stdout:
            child = subprocess.Popen(argv, cwd=room.place, stdout=stdout, stderr=subprocess.DEVNULL)
        wait_until(lambda: out.read_bytes(), lambda: "the program did not start")
        time.sleep(delay)
        child.kill()
        child.wait()
        wait_until(lambda: out.read_bytes() == b"on\n1009\n",
                   lambda: f"gait killed after {delay} s: the program printed only {out.read_bytes()!r}")


def work(n):
    """Says "on", works through much more than all buffers hold, says "off"."""
    return f'$| = 1; print "on\\n"; my %h; $h{{$_ % 1009}} += $_ for 1..{n}; print "off\\n"'


def stop_gait(room, *options):
    """Record some work, stop gait in the middle; what the program had said when gait went on, and gait's end."""
    out = room.place / "out"
    with open(out, "wb") as stdout:
        child = subprocess.Popen([room.gait, "record", "--events=control", *options, "-o", "x.gait", "--",
                                  "/usr/bin/perl", "-e", work(4000000)], cwd=room.place, stdout=stdout, stderr=subprocess.PIPE)
    wait_until(lambda: out.read_bytes(), lambda: "the program did not start")
    os.kill(child.pid, signal.SIGSTOP)
    time.sleep(3)
    said = out.read_bytes()
    os.kill(child.pid, signal.SIGCONT)
    try:
        errors = child.communicate(timeout=SECONDS)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        raise Failed("stopped and continued, gait did not end") from None
    if child.returncode or out.read_bytes() != b"on\noff\n":
        raise Failed(f"stopped and continued, gait ended with {child.returncode}: {errors.decode()}")
    return said, errors.decode()


@case
def gait_stopped_makes_the_program_wait_and_loses_nothing(room):
    said, errors = stop_gait(room)
    if said != b"on\n" or errors:
        raise Failed(f"while gait was stopped the program said {said!r}; then gait said {errors!r}")
    room.passes("verify", "x.gait")
    if json.loads(room.passes("info", "--json", "x.gait").stdout)["lost_buffers"]:
        raise Failed("buffers were lost")


@case
def overflow_drop_counts_what_it_drops(room):
    slow = {**os.environ, "GAIT_STRESS": "lazy,tinybuf"}
    done = room.run("record", "--events=control", "--overflow=drop", "-o", "x.gait", "--", "/usr/bin/perl", "-e",
                    work(1000000), env=slow)
    lost = json.loads(room.run("info", "--json", "x.gait").stdout)["lost_buffers"]
    require(done.returncode == 0 and done.stdout == b"on\noff\n" and lost and f"{lost} buffers" in done.stderr, done,
            f"{lost} buffers lost, stderr {done.stderr!r}")
    done = room.run("verify", "x.gait")
    require(done.returncode == 0 and "has gaps" in done.stderr, done, "the trace with gaps does not verify")


@case
def program_killed_keeps_what_it_recorded(room):
    for delay in (0.05, 0.2, 0.5):
        child = subprocess.Popen([room.gait, "record", "--events=control", "-o", "x.gait", "--",
                                  "/usr/bin/perl", "-e", work(100000000)], cwd=room.place, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        child.stdout.readline()
        time.sleep(delay)
        subprocess.run(["pkill", "-KILL", "-P", str(child.pid)], check=True)
        errors = child.communicate(timeout=SECONDS)[1]
        if child.returncode != -signal.SIGKILL or errors:
            raise Failed(f"the program was killed, gait ended with {child.returncode}: {errors.decode()}")
        room.passes("verify", "x.gait")
        info = json.loads(room.passes("info", "--json", "x.gait").stdout)
        if info["ending"] != "signal" or info["status"] != 9 or info["instructions"] < 1000000:
            raise Failed(f"the trace of a killed program says {info}")


def tree(room, trace):
    """The processes of a trace, as gait info tells them."""
    room.passes("verify", trace)
    return json.loads(room.passes("info", "--json", trace).stdout)["processes"]


@case
def processes_are_followed(room):
    done = room.passes("record", "-o", "x.gait", "--", "/bin/sh", "-c", "ls / | wc -l; (echo b; echo a) | sort", status=0)
    alone = subprocess.run(["/bin/sh", "-c", "ls / | wc -l; (echo b; echo a) | sort"], capture_output=True, check=True)
    require(done.stdout == alone.stdout, done, "the pipelines print something else")
    made = tree(room, "x.gait")
    hows = [p["how"] for p in made]
    require(hows.count("command") == 1 and hows.count("fork") == 4 and hows.count("exec") == 3, done, f"made {hows}")
    require(all(p["instructions"] > 1000 and not p["untraced"] for p in made), done, "a process has no records")
    names = sorted(p["arguments"][0] for p in made if p["how"] == "exec")
    require(names == ["ls", "sort", "wc"], done, f"the images are {names}")


@case
def follow_no_leaves_processes_alone(room):
    done = room.passes("record", "--follow=no", "-o", "x.gait", "--", "/bin/sh", "-c", "ls / | wc -l; exec /bin/true")
    require(len(tree(room, "x.gait")) == 1, done, "there is more than one process")
    info = json.loads(room.passes("info", "--json", "x.gait").stdout)
    require(info["untraced_tasks"] == 2, done, f"{info['untraced_tasks']} untraced tasks, expected 2")


@case
def child_of_32_bits_runs_natively_and_is_told(room):
    child = room.path("elf32", elf32(), 0o755)
    if subprocess.run([child], check=False, capture_output=True).returncode:
        raise Skipped("this kernel runs no 32-bit programs")
    done = room.refuses("record", "-o", "x.gait", "--", "/bin/sh", "-c", f"{child}; exit 4", status=4, says="untraced")
    made = tree(room, "x.gait")
    require([p["how"] for p in made][2:] == ["exec"], done, "there should be a child and its exec")
    require("64-bit" in (made[2]["untraced"] or ""), done, "the 32-bit image is not told")


@case
def image_with_privileges_keeps_them(room):
    if os.geteuid() != 0:
        raise Skipped("only root can make a set-user-ID program")
    room.place.chmod(0o755)
    shutil.copy("/usr/bin/id", room.place / "id")
    os.chown(room.place / "id", 1, 1)
    (room.place / "id").chmod(0o4755)
    done = room.refuses("record", "-o", "x.gait", "--", "/bin/sh", "-c", "./id -u; ./id -u", status=0, says="untraced")
    require(done.stdout == b"1\n1\n", done, f"the program ran as {done.stdout}")
    made = tree(room, "x.gait")
    told = [p for p in made if "privileges" in (p["untraced"] or "")]
    require(len(told) == 2, done, f"{len(told)} processes are told to be privileged, expected 2")


@case
def processes_in_another_pid_namespace_are_followed(room):
    argv = ["unshare", "-p", "--fork", "--mount-proc", "/bin/sh", "-c", "ls / | wc -l; exec /bin/sh -c 'echo $$'"]
    alone = subprocess.run(argv, capture_output=True, check=False)
    if alone.returncode:
        raise Skipped("cannot make a pid namespace")
    done = room.passes("record", "-o", "x.gait", "--", *argv)
    require(done.stdout == alone.stdout, done, "prints something else")
    made = tree(room, "x.gait")
    require(len(made) == 8 and not any(p["untraced"] for p in made), done, f"{len(made)} processes")
    require(sorted(p["pid"] for p in made)[:3] == [1, 1, 1], done, "pids are not those of the namespace")


@case
def process_of_a_trace_can_be_dumped_alone(room):
    done = room.passes("record", "-o", "x.gait", "--", "/bin/sh", "-c", "/bin/true; exit 0")
    made = tree(room, "x.gait")
    lines = [len(room.passes("dump", "--process", str(p["number"]), "--format=lackey", "x.gait").stdout.splitlines())
             for p in made]
    events = [p["instructions"] + p["loads"] + p["stores"] + p["modifies"] for p in made]
    require(lines == events, done, f"dumps {lines} lines for {events} events")
    room.refuses("dump", "--process", str(len(made)), "x.gait", says="no process")
    room.refuses("dump", "--process=first", "x.gait", status=2, says="process")


@case
def exported_file_is_what_standard_output_would_be(room):
    for to in ("lackey", "din", "champsim", "csv"):
        name = room.path(f"x.{to}", b"old contents, which are longer than nothing\n" * 10000)
        shown = room.passes("export", "--to", to, room.shared.trace)
        room.passes("export", "--to", to, "-o", name, room.shared.trace)
        require(Path(name).read_bytes() == shown.stdout != b"", shown, "-o writes something else")


@case
def export_that_cannot_be_made_leaves_its_output_alone(room):
    trace = room.path("x.gait", room.shared.trace.read_bytes())
    old = room.path("old", b"old\n")
    for option, says in (("--thread=7", "no thread 7"), ("--process=7", "no process 7")):
        done = room.refuses("export", "--to=csv", option, "-o", old, trace, says=says)
        require(Path(old).read_bytes() == b"old\n", done, "the output was written to")
    done = room.refuses("export", "--to=csv", "-o", old, "no-such.gait", says="no-such.gait")
    require(Path(old).read_bytes() == b"old\n", done, "the output was written to")
    done = room.refuses("export", "--to=csv", "-o", trace, trace, says="trace itself")
    require(Path(trace).read_bytes() == room.shared.trace.read_bytes(), done, "the trace was written to")
    room.refuses("export", "--to=csv", "-o", "no/such/dir/x", trace, says="no/such/dir/x")
    room.refuses("export", "--to=csv", "-o", str(room.place), trace, says=re.escape(room.place.name))


@case
def every_command_has_its_manual_page(room):
    done = room.passes("--help")
    for name in re.findall(r"^  gait (\w+) .*\n      ", done.stdout.decode(), re.M):
        require((ROOT / f"docs/man/gait-{name}.1").exists(), done, f"docs/man has no gait-{name}.1")
        require(f"Cm {name}\n" in (ROOT / "docs/man/gait.1").read_text(), done, f"gait(1) does not list {name}")


@case
def program_stopped_while_it_starts_another_goes_on(room):
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true; done; echo done"
    child = subprocess.Popen([room.gait, "record", "-o", "x.gait", "--", "/bin/sh", "-c", script], cwd=room.place,
                             stdout=subprocess.PIPE, start_new_session=True)
    deadline = time.monotonic() + SECONDS
    while child.poll() is None:
        if time.monotonic() > deadline:
            os.killpg(child.pid, signal.SIGKILL)
            raise Failed("stopped and continued, the program did not end")
        for sig in (signal.SIGTSTP, signal.SIGCONT):
            try:
                os.killpg(child.pid, sig)
            except ProcessLookupError:
                break
            time.sleep(0.01)
    if child.stdout.read() != b"done\n" or child.returncode:
        raise Failed(f"stopped and continued, the program ended with {child.returncode}")
    room.passes("verify", "x.gait")


@case
def gait_killed_lets_a_tree_of_processes_finish(room):
    script = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); (exit 0); /bin/true; done; echo done"
    for delay in (0.1, 0.3, 0.6):
        out = room.place / f"out{delay}"
        with open(out, "wb") as stdout:
            child = subprocess.Popen([room.gait, "record", "-o", "x.gait", "--", "/bin/sh", "-c", script],
                                     cwd=room.place, stdout=stdout, stderr=subprocess.DEVNULL)
        time.sleep(delay)
        child.kill()
        child.wait()
        wait_until(lambda: out.read_bytes() == b"done\n",
                   lambda: f"gait killed after {delay} s: the program printed only {out.read_bytes()!r}")


@case
def input_output_and_arguments_pass_through(room):
    with open(room.path("in", b"line\n" * 1000), "rb") as stdin:
        done = room.passes("record", "-o", "x.gait", "--", "/bin/cat", stdin=stdin)
    require(done.stdout == b"line\n" * 1000, done, "cat did not copy its input")
    done = room.passes("record", "-o", "x.gait", "--", "/usr/bin/printf", "<%s>", "a b", "", "--version", "-o")
    require(done.stdout == b"<a b><><--version><-o>", done, "the arguments changed")
    done = room.passes("record", "-o", "x.gait", "/usr/bin/printf", "%s", "--sink=drop")
    require(done.stdout == b"--sink=drop", done, "an option of the program was taken for one of gait")


@case
def output_is_named_after_the_program(room):
    room.passes("record", "--", "/bin/true")
    room.passes("verify", "true.gait")
    room.passes("record", "false", status=1)
    room.passes("verify", "false.gait")


@case
def nothing_is_written_when_nothing_is_recorded(room):
    for options in (["--events=none"], ["--sink=drop"], ["--sink=decode"]):
        room.passes("record", *options, "--", "/bin/true")
        if list(room.place.iterdir()):
            raise Failed(f"gait record {options[0]} wrote {next(room.place.iterdir()).name}")


@case
def info_is_json_when_asked(room):
    done = room.passes("info", "--json", room.shared.trace)
    check = subprocess.run([sys.executable, "-m", "json.tool"], input=done.stdout, capture_output=True, check=False)
    require(check.returncode == 0, done, "prints no JSON")


@case
def limit_is_obeyed(room):
    done = room.passes("dump", "--format=lackey", "--limit", "5", room.shared.trace)
    whole = room.passes("dump", "--format=lackey", room.shared.trace)
    require(done.stdout == b"".join(whole.stdout.splitlines(True)[:5]), done, "does not print the first 5 events")


@case
def ordinary_user_can_record(room):
    if os.geteuid() != 0:
        raise Skipped("the tests are run by an ordinary user already")
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    room.place.chmod(0o755)
    shutil.copy(room.gait, room.place / "gait")
    (room.place / "gait").chmod(0o755)
    mine, closed = room.place / "mine", room.place / "closed"
    mine.mkdir()
    os.chown(mine, 65534, 65534)
    closed.mkdir()
    room.gait = str(room.place / "gait")
    room.passes("record", "-o", "x.gait", "--", "/bin/sh", "-c", "exit 7", status=7, prefix=user, cwd=mine)
    room.passes("verify", "x.gait", prefix=user, cwd=mine)
    room.refuses("record", "--", "/bin/true", prefix=user, cwd=closed, says="true.gait")
    secret = room.path("secret.gait", room.shared.trace.read_bytes(), 0o600)
    room.refuses("info", secret, prefix=user, cwd=mine, says="secret.gait")
    room.refuses("record", "--", room.path("hidden", b"", 0o700), prefix=user, cwd=mine, says="hidden")


# -- The runner --------------------------------------------------------------------------------------------------------

def run_case(function, gait, shared, top):
    """Return the verdict of one case and a line to print."""
    name = function.__name__
    place = top / name
    place.mkdir()
    try:
        function(Room(gait, shared, place))
    except Skipped as e:
        return "skipped", f"skipped {name}: {e}"
    except Failed as e:
        return "failed", f"not ok {name}: {e}"
    except (OSError, subprocess.SubprocessError) as e:
        return "failed", f"not ok {name}: {e}\n    tests/cli/run.py {name}"
    shutil.rmtree(place)
    return "passed", ""


def main():
    p = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    p.add_argument("names", nargs="*", help="only the cases whose names contain one of these")
    p.add_argument("--gait", type=Path, default=ROOT / "build/gait", help="default: build/gait")
    args = p.parse_args()
    gait = args.gait.resolve()
    if not gait.exists():
        p.error(f"{gait} does not exist; run make first")
    wanted = [c for c in CASES if not args.names or any(n in c.__name__ for n in args.names)]
    # Directly under the temporary directory, so that an ordinary user can reach it.
    top = Path(tempfile.mkdtemp(prefix="gait-cli-"))
    top.chmod(0o755)
    shared = Shared(gait, top / "shared")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for function in wanted:
        verdict, line = run_case(function, gait, shared, top)
        counts[verdict] += 1
        if line:
            print(line, flush=True)
    print(f"{counts['passed']} passed, {counts['failed']} failed"
          + (f", {counts['skipped']} skipped" if counts["skipped"] else ""))
    if counts["failed"]:
        print(f"kept {top}")
        return 1
    shutil.rmtree(top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
