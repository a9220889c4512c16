#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Processes that gait attaches to, again and again, notice nothing, and have nothing of gait's in them afterwards.

    tests/attach/run.py [NAME]...     only the cases whose names contain one of these; ROUNDS=N for more than a few rounds of each
"""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import GAIT, case, main, require, use  # noqa: E402

use("attach")
from processes import ROUNDS, WORK, Program, all_traits, attach, attach_again_and_again, status, traits  # noqa: E402


def info():
    return json.loads(subprocess.run([GAIT, "info", "--json", WORK / "attached.gait"], capture_output=True, text=True, check=True).stdout)


# -- Cases --------------------------------------------------------------------------------------------------------------

@case
def registers_flags_and_vectors_are_kept():
    with Program("registers") as p:
        attach_again_and_again(p.pid, p.is_unhurt)
        p.goes_on()
        p.is_unhurt()


@case
def no_system_call_comes_back_early():
    with Program("waits") as p:
        attach_again_and_again(p.pid, p.is_unhurt)
        p.process.send_signal(signal.SIGUSR1)
        p.wait_for(lambda said: any(line.startswith("rounds") for line in said), "its handler does not run")
        p.process.send_signal(signal.SIGTERM)
        require(p.process.wait(10) == 0 and p.said()[-1] == "ended", "it does not end as it should")


@case
def a_storm_of_signals():
    with Program("waits", "storm") as p:
        attach_again_and_again(p.pid, p.is_unhurt)
        p.process.send_signal(signal.SIGTERM)
        require(p.process.wait(10) == 0 and p.said()[-1] == "ended", "it does not end as it should")


@case
def threads_that_come_and_go():
    with Program("spawner") as p:
        before = traits(p.pid)
        for n in range(ROUNDS):
            run = attach(p.pid, "--for", "0.1")
            require(run.returncode == 0, f"round {n}: status {run.returncode}, {run.stderr}")
            p.is_unhurt()
            require(traits(p.pid)["gait"] == [], f"round {n}: pages are left")
        p.goes_on()
        p.is_unhurt()
        require(traits(p.pid) == before, "it is not as it was")


@case
def what_is_recorded_is_sound():
    with Program("registers") as p:
        run = attach(p.pid, "--for", "0.5")
        require(run.returncode == 0, run.stderr)
        found = info()
        require(found["complete"] and found["instructions"] > 100000, f"recorded: {found}")
        subprocess.run([GAIT, "verify", WORK / "attached.gait"], check=True, stdout=subprocess.DEVNULL)
        functions = subprocess.run([GAIT, "mix", "--json", "--by", "function", WORK / "attached.gait"], capture_output=True, text=True, check=True)
        require('"narrow' in functions.stdout, "its functions are not known")


@case
def an_interrupt_detaches():
    with Program("registers") as p:
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait"])
        time.sleep(1)
        gait.send_signal(signal.SIGINT)
        require(gait.wait(30) == 0, "it does not end well")
        require(traits(p.pid)["gait"] == [], "pages are left")
        require(info()["complete"], "the trace is not complete")
        p.goes_on()
        p.is_unhurt()


@case
def gaits_death_is_survived():
    for name in ("registers", "waits"):
        with Program(name) as p:
            gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait"])
            time.sleep(1)
            gait.kill()
            gait.wait()
            time.sleep(0.5)
            p.is_unhurt()
            if name == "registers":
                p.goes_on()


@case
def the_program_may_end_meanwhile():
    with Program("waits") as p:
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait"])
        time.sleep(1)
        p.process.send_signal(signal.SIGTERM)
        require(p.process.wait(30) == 0 and p.said()[-1] == "ended", "it does not end as it should")
        require(gait.wait(30) == 0, "gait does not end well")
        require(info()["complete"], "the trace is not complete")


@case
def refusals():
    gone = subprocess.Popen(["true"])
    gone.wait()
    zombie = subprocess.Popen(["true"])
    time.sleep(0.2)
    kernel = next(p for p in os.listdir("/proc") if p.isdigit() and not os.path.exists(f"/proc/{p}/exe")
                  and "VmSize" not in Path(f"/proc/{p}/status").read_text() and "State:\tZ" not in Path(f"/proc/{p}/status").read_text())
    for pid, word in ((gone.pid, "there is none"), (zombie.pid, "has ended"), (kernel, "kernel")):
        run = attach(pid, "--for", "1")
        require(run.returncode == 1 and word in run.stderr, f"process {pid}: status {run.returncode}, {run.stderr}")
    zombie.wait()
    with Program("registers") as p:
        gait = subprocess.Popen(["strace", "-o", "/dev/null", "-p", str(p.pid)], stderr=subprocess.DEVNULL)
        time.sleep(1)
        run = attach(p.pid, "--for", "1")
        gait.terminate()
        gait.wait()
        require(run.returncode == 1 and "traces it already" in run.stderr, f"traced: status {run.returncode}, {run.stderr}")
        run = subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", GAIT, "attach", "-p", str(p.pid), "-o", "/tmp/never.gait"],
                             capture_output=True, text=True)
        require(run.returncode == 1 and "may not be traced" in run.stderr, f"another user: status {run.returncode}, {run.stderr}")
    for options, word in ((["--for", "x"], "seconds"), (["--for", "-1"], "seconds")):
        run = attach(1, *options)
        require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")


if __name__ == "__main__":
    main()
