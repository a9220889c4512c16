#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Processes that gait attaches to, again and again, notice nothing, and have nothing of gait's in them afterwards.

    tests/attach/run.py [NAME]...     only the cases whose names contain one of these; ROUNDS=N for more than a few rounds of each
"""
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import GAIT, Failed, build, case, main, require, use  # noqa: E402

use("attach")
from processes import ROUNDS, WORK, Program, attach, attach_again_and_again, priorities, settled, status, traits, wait_until  # noqa: E402


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
def faults_that_are_under_way():
    """A fault that the kernel has noted for a thread but not delivered when it is stopped is the program's."""
    for options in ([], ["--budget=1ms/20ms"]):
        with Program("faults") as p:
            attach_again_and_again(p.pid, p.is_unhurt, look=traits, options=options, may_say=".*")
            p.goes_on()


@case
def threads_that_run_natively_meanwhile():
    """With a budget that is spent at once: they are called back to be let go, and their system calls are nobody else's afterwards."""
    for name, *arguments in (["registers"], ["waits"], ["waits", "storm"], ["memory"]):
        with Program(name, *arguments) as p:
            said = attach_again_and_again(p.pid, p.is_unhurt, options=["--budget=1ms/20ms", "--stats"], may_say=".*")
            require(re.search(r"times in native code +[1-9]", "".join(said)), f"{name}: none does")
            p.is_unhurt()


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
def children_are_let_go_too():
    with Program("forker") as p:
        attach_again_and_again(p.pid, p.is_unhurt, look=traits)
        p.goes_on()
        p.is_unhurt()


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
            p.is_unhurt(but="sigaction.*")  # until the last thread has left, which waits for ever
            if name == "registers":
                p.goes_on()


@case
def thirty_threads_keep_their_priorities():
    with Program("thirty") as p:
        attach_again_and_again(p.pid, p.is_unhurt)
        before = settled(lambda: priorities(p.pid))
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait"])
        wait_until(lambda: traits(p.pid)["gait"], "it is not attached to")
        wait_until(lambda: priorities(p.pid) == before, lambda: f"while it is attached to, {before} are {priorities(p.pid)}")
        gait.send_signal(signal.SIGINT)
        require(gait.wait(60) == 0, "it does not end well")
        require(priorities(p.pid) == before, f"{before} became {priorities(p.pid)}")
        p.goes_on()
    for n in range(ROUNDS):
        with Program("thirty") as p:
            before = settled(lambda: priorities(p.pid))
            gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait"])
            time.sleep(random.Random(n).uniform(0, 0.03))
            gait.kill()
            gait.wait()
            if p.process.poll() is None:  # killed while it changes the program, gait may take that with it
                wait_until(lambda: p.process.poll() is not None or priorities(p.pid) == before, lambda: f"gait is killed, and {before} are {priorities(p.pid)}")


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
def a_wait_ends_in_its_time_however_often_it_is_attached_to():
    with Program("limits") as p:
        def times():
            def told():
                return [line for line in p.said() if line.startswith("rounds")]
            n = len(told())
            p.process.send_signal(signal.SIGUSR1)
            wait_until(lambda: len(told()) > n, "it does not answer")
            return [int(x) for x in told()[-1].split()[1:]]
        before = times()
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait", "--for", "50ms", "--leave", "50ms"])
        time.sleep(6)
        gait.send_signal(signal.SIGINT)
        require(gait.wait(30) == 0, "gait does not end well")
        after = times()
        p.is_unhurt()
        require(min(b - a for a, b in zip(before, after)) >= 2, f"waits of 0.7 s in 6 s: from {before} to {after}")
        require(len(info()["processes"]) > 5, "there were not many windows")
        wait_until(lambda: traits(p.pid)["gait"] == [], "pages are left")


@case
def a_signal_that_comes_at_that_moment_ends_the_call():
    """What says EINTR in any case (epoll_wait) the kernel does not begin again by itself: there a moment is left, see docs/limits.md."""
    for how in ("read", "epoll"):
        with Program("alarmed", how, patience=5 if how == "epoll" else 60) as p:
            hits = lost = 0
            for n in range(ROUNDS * 3):
                rounds = p.said().count("round")
                wait_until(lambda: status(p.pid, "State")["State"].startswith("S"), "it does not wait")
                gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait", "--for", "20ms"])
                while gait.poll() is None and status(p.pid, "TracerPid")["TracerPid"] == "0":
                    pass
                hits += gait.poll() is None
                p.process.send_signal(signal.SIGUSR1)
                require(gait.wait(30) == 0, "gait does not end well")
                try:
                    p.wait_for(lambda said: said.count("round") > rounds, f"{how}, round {n}: no EINTR")
                except Failed:
                    lost += 1
                    require(how == "epoll" and lost <= 1 + ROUNDS // 20, f"{how}, round {n}: no EINTR, {lost} times")
                p.is_unhurt()
            require(hits, "it was never seen traced")


@case
def windows_are_in_one_trace():
    with Program("registers") as p:
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait", "--for", "50ms", "--leave", "0.2s", "--stats"],
                                stderr=subprocess.PIPE, text=True)
        time.sleep(2)
        gait.send_signal(signal.SIGINT)
        said = gait.communicate(timeout=30)[1]
        require(gait.returncode == 0, said)
        found = info()
        require(found["complete"] and found["ending"] == "detached", f"{found}")
        windows = found["processes"]
        require(len(windows) >= 2 and windows[0]["how"] == "command", f"{windows}")
        for n, w in enumerate(windows[1:], 1):
            require(w["how"] == "again" and w["from"] == n - 1 and w["pid"] == p.pid and w["ending"] == "detached", f"{w}")
        require(sum(w["instructions"] > 1000 for w in windows) >= 2, f"{windows}")
        require(re.search(rf"^windows +{len(windows)}$", said, re.M) and len(re.findall(r"^ms of pause, (attaching|leaving) +[0-9.]+$", said, re.M)) == 2, said)
        subprocess.run([GAIT, "verify", WORK / "attached.gait"], check=True, stdout=subprocess.DEVNULL)
        p.goes_on()
        p.is_unhurt()
        gait = subprocess.Popen([GAIT, "attach", "-p", str(p.pid), "-o", WORK / "attached.gait", "--for", "50ms", "--leave", "1000"])
        time.sleep(1)
        p.process.kill()
        p.process.wait()
        require(gait.wait(30) == 0, "it does not notice that the process has ended")
        require(info()["ending"] in ("signal", "unknown"), f"{info()}")


@case
def analyses_see_what_the_trace_holds():
    with Program("memory") as p:
        for name in ("cache", "mix", "branches", "calls", "reuse", "footprint", "deps", "patterns"):
            live = subprocess.run([GAIT, name, "--json", "-p", str(p.pid), "--for", "50ms", "-o", WORK / "attached.gait"], capture_output=True, text=True)
            require(live.returncode == 0 and not live.stderr, f"{name}: status {live.returncode}, {live.stderr}")
            stored = subprocess.run([GAIT, name, "--json", WORK / "attached.gait"], capture_output=True, text=True, check=True).stdout
            require(live.stdout == stored, f"{name} finds something else than of the trace")
            p.is_unhurt()
        tool = subprocess.run([GAIT, "tool", "-p", str(p.pid), "--for", "50ms", GAIT.parent / "examples/functions.so"], capture_output=True, text=True)
        require(tool.returncode == 0 and re.search(r"[1-9]\d{3}", tool.stdout), f"tool: status {tool.returncode}, {tool.stderr}")
        require(traits(p.pid)["gait"] == [], "pages are left")
        p.is_unhurt()
    for options in (["mix", "-p", "1", "trace.gait"], ["mix", "--leave", "1s", "--", "true"], ["attach", "-p", "1", "--leave", "1"]):
        run = subprocess.run([GAIT, *options], capture_output=True, text=True)
        require(run.returncode == 2 and len(run.stderr.splitlines()) <= 2, f"{options}: status {run.returncode}, {run.stderr}")


def refuse(pid, word, *before):
    """One sentence, with this in it, and nothing has happened to the process."""
    run = subprocess.run([*before, GAIT, "attach", "-p", str(pid), "-o", "/tmp/never.gait", "--for", "1"], capture_output=True, text=True)
    require(run.returncode == 1 and word in run.stderr and run.stderr.count("\n") == 1, f"process {pid}: status {run.returncode}, {run.stderr}")
    require(not os.path.exists("/tmp/never.gait"), "there is a trace")


AS_NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@case
def refusals():
    gone = subprocess.Popen(["true"])
    gone.wait()
    refuse(gone.pid, "there is none")
    zombie = subprocess.Popen(["true"])
    wait_until(lambda: status(zombie.pid, "State")["State"].startswith("Z"), "it does not end")
    refuse(zombie.pid, "has ended")
    zombie.wait()
    refuse(next(p for p in os.listdir("/proc") if p.isdigit() and "VmSize" not in Path(f"/proc/{p}/status").read_text()), "thread of the kernel")
    refuse(os.getpid(), "gait's own parent")
    itself = subprocess.run(["sh", "-c", 'exec "$0" attach -p $$ -o /tmp/never.gait', GAIT], capture_output=True, text=True)
    require(itself.returncode == 1 and "gait itself" in itself.stderr, f"itself: {itself.stderr}")
    for options, word in ((["--for", "x"], "a time"), (["--for", "-1"], "a time")):
        run = attach(1, *options)
        require(run.returncode == 2 and word in run.stderr, f"{options}: status {run.returncode}, {run.stderr}")


@case
def refusals_of_what_runs():
    with Program("waits") as p:
        thread = max(int(tid) for tid in os.listdir(f"/proc/{p.pid}/task"))
        refuse(thread, f"thread of process {p.pid}")
    with Program("registers") as p:  # strace itself ends system calls
        tracer = subprocess.Popen(["strace", "-f", "-o", "/dev/null", "-p", str(p.pid)], stderr=subprocess.DEVNULL)
        wait_until(lambda: status(p.pid, "TracerPid")["TracerPid"] != "0", "strace does not begin")
        refuse(p.pid, f"strace (process {tracer.pid}) traces it already")
        tracer.terminate()
        tracer.wait()
        p.process.send_signal(signal.SIGSTOP)
        wait_until(lambda: status(p.pid, "State")["State"].startswith("T"), "it does not stop")
        refuse(p.pid, f"kill -CONT {p.pid}")
        p.process.send_signal(signal.SIGCONT)
        p.goes_on()
        if os.geteuid() == 0:
            refuse(p.pid, "belongs to another user (0)", *AS_NOBODY)
        p.is_unhurt()


@case
def refusals_of_what_the_kernel_forbids():
    """A process that nobody but root may trace, and a setting of a module that this kernel may not have: a file in its place."""
    if os.geteuid():
        return
    protected = build("protected", Path(__file__).parent / "protected.c")
    with Program("protected", command=[*AS_NOBODY, protected]) as p:
        refuse(p.pid, "protects itself", *AS_NOBODY)
        for scope, word in ((1, "sysctl kernel.yama.ptrace_scope=0"), (2, "kernel.yama.ptrace_scope is 2"), (3, "until the next boot")):
            pretend = f"mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo {scope} > /proc/sys/kernel/yama/ptrace_scope && exec \"$@\""
            refuse(p.pid, word, "unshare", "-m", "sh", "-c", pretend, "sh", *AS_NOBODY)
        p.is_unhurt()
    with Program("protected", command=[protected, "filter"]) as p:
        refuse(p.pid, "seccomp filter")


@case
def a_32_bit_process_is_refused_and_goes_on():
    source, program = WORK / "narrow.S", WORK / "narrow"
    source.write_text(".globl _start\n_start: mov $162, %eax\n mov $time, %ebx\n xor %ecx, %ecx\n int $0x80\n jmp _start\n.data\ntime: .long 0, 1000000\n")
    subprocess.run(["gcc", "-m32", "-nostdlib", "-static", "-no-pie", "-o", program, source], check=True)
    with subprocess.Popen([program]) as p:
        try:
            wait_until(lambda: os.readlink(f"/proc/{p.pid}/exe") == str(program), "it does not begin")
            refuse(p.pid, "32-bit")
            require(p.poll() is None, "it has ended")
        finally:
            p.kill()


if __name__ == "__main__":
    main()
