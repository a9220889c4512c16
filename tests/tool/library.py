# SPDX-License-Identifier: MIT
"""Programs that ask for events themselves, and what is installed for those who write them."""
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter

from cases import GAIT, ROOT, case, require
from subjects import (EXAMPLES, HERE, JOBS, LIMIT, TRACES, WORK, by_thread, crowd, descendants, events_of, gait, has_begun, lines_of, native, ok,
                      once, result_of, run_it, same_lines, shell, symbols_of, trace_of, until, until_they_end, without_times, work)


@once
def installed():
    """A tree as make install makes it; the flags that pkg-config tells."""
    root = WORK / "root"
    subprocess.run(["make", "-s", "-C", ROOT, "install", f"PREFIX={root}", "DESTDIR="], stdout=subprocess.DEVNULL, check=True)
    env = dict(os.environ, PKG_CONFIG_PATH=str(root / "lib/pkgconfig"))

    def flags(*what):
        return subprocess.run(["pkg-config", *what, "gait"], env=env, capture_output=True, text=True, check=True).stdout.split()
    return root, flags("--cflags"), flags("--libs")


@once
def ask():
    root, cflags, libs = installed()
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror", *cflags, "-o", WORK / "asks", HERE / "ask.c", *libs,
                    f"-Wl,-rpath,{root}/lib"], check=True)
    return WORK / "asks"


def asked(*args, program=None, env=None, status=0):
    return ok(run_it(program or ask(), *args, env=env), status).stdout


CHECKED = ROOT / "build/tool/ask"  # the same with the sanitizers, which count leaks as errors


@case
def a_program_asks_for_the_events_of_a_trace():
    for program in (ask(), CHECKED):
        for name, knobs in TRACES:
            trace, out = trace_of(name, knobs), WORK / "asked.txt"
            require(asked("open", out, trace, program=program) == "status 0\n", "a trace has a status")
            same_lines(out.read_text().splitlines(), lines_of(trace), f"{trace.name}")


@case
def a_program_asks_for_the_events_of_a_program():
    for knobs in ("", "hot,tinybuf"):
        trace, out = WORK / "unasked.gait", WORK / "asked.txt"
        subprocess.run([*shell(knobs), GAIT, "record", "-o", trace, "--", work(), "3"], stdout=subprocess.DEVNULL, check=True)
        stored = without_times(ok(gait("dump", trace)).stdout.splitlines()[1:])
        for program in (ask(), CHECKED):
            # The sanitizers run it anew without randomness, and would leave their mark in its environment.
            run = run_it(*shell(knobs), program, "start", out, work(), "3")
            require(run.stdout == native(3) + "status 0\n", f"printed {run.stdout!r} {run.stderr!r}")
            same_lines(without_times(out.read_text().splitlines()), stored, f"{program.name} GAIT_STRESS={knobs}")


@case
def a_program_asks_for_a_crowd():
    out = WORK / "asked.txt"
    for program in (ask(), CHECKED):
        require(asked("start", out, crowd(), program=program).endswith("status 5\n"), "not status 5")
        threads = by_thread(out.read_text().splitlines())
        require(len(threads) == 8, f"{len(threads)} threads")
        require(sum(line[26:32] == "signal" for lines in threads.values() for line in lines) == 20, "not 20 signals")


@case
def the_status_of_a_program_that_is_asked_about():
    require(asked("start", "/dev/null", "sh", "-c", "exit 9") == "status 9\n", "not 9")
    require(asked("start", "/dev/null", "sh", "-c", "kill -KILL $$") == "signal 9\n", "not killed")


@case
def a_program_that_is_no_longer_looked_at_goes_on():
    for n in (0, 1, 20):
        for program in (ask(), CHECKED):
            out = WORK / "unseen.txt"
            out.unlink(missing_ok=True)
            said = sorted(asked("leave", n, work(), 40, out, program=program).splitlines())
            require(said == sorted(["seen", native(40).strip(), "status 0"]), f"{program.name} {n}: another end: {said}")
            require(out.read_text() == native(40), f"{n}: the program wrote {out.read_text()!r}")


@case
def a_program_outlives_whoever_asked():
    """Whoever asked is killed while the program waits for it."""
    out = WORK / "outlives.txt"
    out.unlink(missing_ok=True)
    asker = subprocess.Popen([ask(), "wait", "3", work(), "1000", out], stdout=subprocess.PIPE, text=True, env=dict(os.environ, GAIT_STRESS="tinybuf"))
    seen = asker.stdout.readline()
    time.sleep(0.3)
    family = descendants(asker.pid)
    asker.kill()
    asker.wait()
    require(seen == "seen\n" and len(family) == 2, f"{seen!r}, {len(family)} processes")
    until_they_end(family, "the program or what watches it is left behind")
    require(out.read_text() == native(1000), "the program wrote something else")


@case
def what_watches_a_program_may_die():
    out = WORK / "lone.txt"
    out.unlink(missing_ok=True)
    asker = subprocess.Popen([ask(), "start", "/dev/null", work(), "2000", out], stdout=subprocess.PIPE, text=True)
    until(lambda: any(has_begun(p) and os.readlink(f"/proc/{p}/exe") == str(work()) for p in descendants(asker.pid)), "the program does not begin")
    host = [p for p in descendants(asker.pid) if os.readlink(f"/proc/{p}/exe") != str(work())]
    os.kill(host[0], signal.SIGKILL)
    printed = asker.communicate(timeout=LIMIT)[0]
    require("no: " in printed and "what watched it has died" in printed and asker.returncode == 1, f"printed {printed!r}")
    until(lambda: out.exists() and out.read_text() == native(2000), "the program did not go on")


@case
def places_of_code():
    trace, source = trace_of("work", ""), HERE / "work.c"
    start, _ = symbols_of(work())["work_sum"]
    line = next(i for i, text in enumerate(source.read_text().splitlines(), 1) if "work_sum(const" in text)
    for program in (ask(), CHECKED):
        words = asked("find", trace, f"{start:x}", program=program).split()
        require(words[0] == str(work()) and words[1] == "work_sum" and words[2].endswith("work.c") and line <= int(words[3]) <= line + 5, f"{words}")
        require(asked("find", trace, "10", program=program) == "- - - 0 10\n", "something is at 0x10")
        _, count, _, status = re.fullmatch(r"(.*\n)(\d+)( instructions\n)(.*\n)", asked("name", "work_copy", work(), program=program)).groups()
        require(int(count) >= 4 and status == "status 0\n", f"{count} instructions of work_copy, {status}")


@case
def what_cannot_be_opened_is_said():
    damaged, cut = WORK / "damaged.gait", WORK / "cut.gait"
    data = bytearray(trace_of("work", "").read_bytes())
    cut.write_bytes(data[:len(data) * 2 // 3])
    data[len(data) // 2] ^= 0x55
    damaged.write_bytes(data)
    for program in (ask(), CHECKED):
        for args, word in ((("open", "/dev/null", "/no/such.gait"), "/no/such.gait"), (("open", "/dev/null", HERE / "work.c"), "work.c"),
                           (("open", "/dev/null", damaged), "damaged.gait"), (("open", "/dev/null", cut), "cut.gait"),
                           (("start", "/dev/null", "/no/such/program"), "/no/such/program"), (("start", "/dev/null", "no-such-program"), "no-such-program"),
                           (("start", "/dev/null", HERE / "work.c"), "work.c")):
            said = asked(*args, program=program, status=1)
            require(said.startswith("no: ") and word in said and len(said.split()) > 5, f"{args}: {said!r}")
    for subject in (damaged, cut):
        run = gait("tool", "--json", EXAMPLES / "functions.so", subject)
        require(subject.name in run.stderr, f"a tool on {subject.name}: status {run.returncode}, {run.stderr}")


@case
def the_library_shows_what_the_header_declares():
    header = (ROOT / "include/gait.h").read_text()
    declared = set(re.findall(r"^[a-z][a-z0-9_ ]*[ *](gait_\w+)\(", header, re.M))
    out = subprocess.run(["readelf", "--dyn-syms", "-W", ROOT / "build/libgait.so.1"], capture_output=True, text=True, check=True).stdout
    shown = [line.split() for line in out.splitlines() if re.search(r" (GLOBAL|WEAK) +DEFAULT +(\d+|ABS) ", line)]
    names = {w[7] for w in shown if w[7] != "GAIT_1"}
    require(len(declared) > 15 and names == {f"{d}@@GAIT_1" for d in declared}, f"shown and not declared, or not shown: {names ^ {f'{d}@@GAIT_1' for d in declared}}")
    dynamic = subprocess.run(["readelf", "-dW", ROOT / "build/libgait.so.1"], capture_output=True, text=True, check=True).stdout
    require("soname: [libgait.so.1]" in dynamic, "no soname")


@case
def what_is_installed_is_enough():
    root, cflags, libs = installed()
    trace, results = trace_of("work", ""), []
    for extra in ([], libs):  # a tool needs no library, and may be linked with it
        tool = WORK / "mine.so"
        subprocess.run(["gcc", "-shared", "-fPIC", *cflags, "-o", tool, ROOT / "examples/functions.c", *extra], check=True)
        run = run_it(root / "bin/gait", "tool", "--json", tool, trace, env={"LD_LIBRARY_PATH": str(root / "lib")})
        results.append(json.loads(ok(run).stdout))
    require(results[0] == results[1] == result_of(EXAMPLES / "functions.so", trace), "results differ")
    for page in ("man1/gait-tool.1", "man3/gait.h.3"):
        require((root / "share/man" / page).exists(), f"no {page}")


@case
def the_header_is_cplusplus_too():
    tool = WORK / "plus.so"
    subprocess.run(["g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", tool, HERE / "plus.cc"], check=True)
    subprocess.run(["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-xc", ROOT / "include/gait.h"], check=True)
    trace = trace_of("work", "")
    plain = len({(memory, pc) for memory, pc, what, _, _ in events_of(trace) if what == "exec"})
    for jobs in JOBS:
        ours = result_of(tool, "-j", jobs, trace)["plus"]["different"]
        require(ours == plain, f"-j {jobs}: {ours} different instructions, plainly {plain}")


@case
def the_manuals_example_works():
    """gait.h(3) has a whole tool in it."""
    text = (ROOT / "docs/man/gait.h.3").read_text()
    source = text.split(".Bd -literal -offset indent\n#include <gait.h>", 1)[1].split("\n.Ed", 1)[0]
    path = WORK / "manual.c"
    path.write_text("#include <gait.h>" + source.replace("\\e", "\\").replace("\\&", "") + "\n")
    subprocess.run(["gcc", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", WORK / "manual.so", path], check=True)
    trace = trace_of("crowd", "")
    plain = Counter(what for _, _, what, _, _ in events_of(trace))
    for jobs in JOBS:
        ours = result_of(WORK / "manual.so", "-j", jobs, trace)
        require(ours["kinds"] == {k + "s" if k != "modify" else "modifies": plain[k] for k in ("load", "store", "modify")}, f"{ours}, plainly {plain}")
