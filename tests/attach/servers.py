#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Servers that are attached to again and again while clients ask them lose no request, and are as fast afterwards as before.

    tests/attach/servers.py [NAME]...     only the cases whose names contain one of these; ROUNDS=N for more than a few rounds of each

Prints for each server the rate of its clients before, during and after, in requests per second; these are to be read, not judged by the test.
"""
import glob
import os
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from cases import case, main, require, use  # noqa: E402

use("attach")
from processes import HERE, ROUNDS, WORK, Program, attach_again_and_again, traits, wait_until  # noqa: E402

MEASURE = float(os.environ.get("MEASURE", "5"))  # seconds before and after
WINDOW = os.environ.get("WINDOW", "0.02")


class Load:
    """Clients that run without end and tell their rate about once a second."""

    def __init__(self):
        self.rates, self.bad = [], []

    def rate_of(self, seconds):
        time.sleep(1)  # what is told next began before
        n, end = len(self.rates), time.time() + 60
        time.sleep(seconds)
        while len(self.rates) == n and not self.bad and time.time() < end:
            time.sleep(0.1)
        require(self.rates[n:], f"the clients stand still: {self.bad}")
        return statistics.median(self.rates[n:])

    def is_good(self):
        require(not self.bad, f"the clients complain: {self.bad[:3]}")


class Lines(Load):
    """A client that runs once; `rate` finds the rate in a line, `good` is what else it may say."""

    def __init__(self, command, rate, good="", **more):
        super().__init__()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
        self.stopped = False

        def read():
            for line in self.process.stdout:
                found = re.search(rate, line)
                if found:
                    self.rates.append(float(found[1]))
                elif not re.fullmatch(good, line.strip()):
                    self.bad.append(line)
            if not self.stopped:
                self.bad.append("it has ended")
        self.thread = threading.Thread(target=read)
        self.thread.start()

    def stop(self):
        self.stopped = True
        self.process.kill()
        self.process.wait()
        self.thread.join()


class Again(Load):
    """A client that ends by itself after a second or so, again and again."""

    def __init__(self, command, rate, good):
        super().__init__()
        self.stopped = False

        def repeat():
            while not self.stopped:
                run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
                found = re.search(rate, run.stdout)
                if run.returncode or not found or not re.search(good, run.stdout):
                    self.bad.append(run.stdout[-300:] + run.stderr[-300:])
                else:
                    self.rates.append(float(found[1]))
        self.thread = threading.Thread(target=repeat)
        self.thread.start()

    def stop(self):
        self.stopped = True
        self.thread.join()


def attach_under_load(name, pid, load, is_unhurt=lambda: None, may_say=""):
    def check():
        load.is_good()
        is_unhurt()
    try:
        before = load.rate_of(MEASURE)
        n, began = len(load.rates), time.time()
        attach_again_and_again(pid, check, WINDOW, traits, may_say)
        took, during = time.time() - began, load.rates[n:]
        after = load.rate_of(MEASURE)
        check()
        print(f"{name}: {ROUNDS} rounds in {took:.0f} s; per second: {before:.0f} before, {statistics.median(during or [0]):.0f} during, "
              f"{after:.0f} after ({after / before:.2f})", flush=True)
    finally:
        load.stop()


def empty(name):
    work = WORK / name
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


def needs(*programs):
    """A case of programs that may not be there."""
    def made(function):
        def run():
            missing = [p for p in programs if not shutil.which(p) and not glob.glob(f"/usr/lib/postgresql/*/bin/{p}")]
            if missing:
                print(f"{function.__name__}: skipped, for there is no {missing[0]}; scripts/deps conformance installs it", flush=True)
            else:
                function()
        run.__name__ = function.__name__
        return case(run)
    return made


def children(pid):
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


class Server:
    """A server that runs by itself until the block ends."""

    def __init__(self, work, *command, **more):
        self.work = work
        with open(work / "log", "w") as log:
            self.process = subprocess.Popen([str(c) for c in command], cwd=work, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
        self.pid = self.process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def is_unhurt(self):
        require(self.process.poll() is None, f"it has ended: {(self.work / 'log').read_text()[-300:]}")


# -- Cases --------------------------------------------------------------------------------------------------------------

@needs("redis-server", "redis-benchmark")
def redis():
    work = empty("redis")
    with Server(work, "redis-server", "--port", 0, "--unixsocket", "redis.sock", "--save", "") as s:
        ask = ["redis-cli", "-s", work / "redis.sock"]
        wait_until(lambda: subprocess.run([*ask, "ping"], capture_output=True).stdout == b"PONG\n", "it does not begin")
        load = Again(["redis-benchmark", "-s", work / "redis.sock", "-n", "40000", "-c", "20", "-r", "1000", "-t", "set", "--csv"],
                     r'"SET","([\d.]+)"', "SET")
        attach_under_load("redis", s.pid, load, s.is_unhurt)
        errors = subprocess.run([*ask, "info", "stats"], capture_output=True, text=True).stdout
        require("total_error_replies:0" in errors, errors)


@needs("nginx", "ab")
def nginx():
    work = empty("nginx")
    work.chmod(0o755)
    (work / "html").mkdir(mode=0o755)
    (work / "html/page.txt").write_text("".join(f"{i}\n" for i in range(2000)))
    port = 20000 + os.getpid() % 20000
    (work / "nginx.conf").write_text(f"""daemon off; worker_processes 1; pid nginx.pid; error_log error.log notice;
{'user www-data;' if os.geteuid() == 0 else ''}
events {{ worker_connections 128; }}
http {{ access_log off; sendfile on; gzip on; gzip_types *; keepalive_requests 100000; server {{ listen 127.0.0.1:{port}; root html; }}
client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp; }}
""")
    with Server(work, "nginx", "-p", ".", "-c", "nginx.conf", "-e", "error.log") as s:
        wait_until(lambda: children(s.pid), "it does not begin")
        load = Again(["ab", "-q", "-k", "-n", "8000", "-c", "8", "-H", "Accept-Encoding: gzip", f"http://127.0.0.1:{port}/page.txt"],
                     r"Requests per second: +([\d.]+)", r"Complete requests: +8000\nFailed requests: +0\n")
        attach_under_load("nginx", children(s.pid)[0], load, s.is_unhurt)
        errors = [line for line in (work / "error.log").read_text().splitlines() if re.search(r"\[(warn|error|crit|alert|emerg)\]", line)]
        require(not errors, f"its log says: {errors[:3]}")


@needs("java", "javac")
def java():
    work = empty("java")
    subprocess.run(["javac", "-d", work, HERE / "Server.java"], check=True)
    with Program("java", command=["java", "-Xmx256m", "-cp", work, "Server"], patience=120) as p:
        class Said(Load):
            """It is its own client."""
            rates = property(lambda self: [int(line.split()[1]) for line in p.said() if line.startswith("rate")], lambda self, _: None)

            def stop(self):
                pass
        time.sleep(5)  # the compilers
        attach_under_load("java", p.pid, Said(), p.is_unhurt)
        p.goes_on()


@needs("go")
def go():
    work = empty("go")
    subprocess.run(["go", "build", "-o", work / "server", HERE / "server.go"], check=True,
                   env={**os.environ, "GOCACHE": str(WORK / "go-cache"), "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
    with Server(work, work / "server", "socket") as s:
        wait_until(lambda: "ready" in (work / "log").read_text(), "it does not begin")
        attach_under_load("go", s.pid, Lines([work / "server", work / "socket", "client"], r"^rate (\d+)"), s.is_unhurt)


@needs("postgres", "pgbench")
def postgresql():
    work = empty("postgresql")
    path = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    become = {}
    if os.geteuid() == 0:  # it refuses to run as root
        shutil.chown(work, "postgres", "postgres")
        become = {"user": "postgres", "group": "postgres"}
    env = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}", "PGHOST": str(work), "PGUSER": "tester", "PGDATABASE": "postgres", "LC_ALL": "C"}
    run = {"env": env, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "check": True, "cwd": work}
    subprocess.run(["initdb", "-D", "data", "-U", "tester", "-A", "trust", "--no-locale", "-E", "UTF8", "--no-sync"], **run, **become)

    def sql(text):
        return subprocess.run(["psql", "-X", "-q", "-A", "-t", "-c", text], **{**run, "check": False}).stdout.strip()

    with Server(work, "postgres", "-D", "data", "-k", work, "-c", "listen_addresses=", "-c", "fsync=off", env=env, **become) as s:
        wait_until(lambda: sql("select 1") == "1", "it does not begin")
        subprocess.run(["pgbench", "-i", "-q", "-s", "2"], **run)
        load = Lines(["pgbench", "-n", "-c", "3", "-T", "1000000", "-P", "1"], r"^progress: .* ([\d.]+) tps.* 0 failed", r"pgbench \(.*", env=env)
        wait_until(lambda: load.rates, "pgbench does not begin")
        backend = int(sql("select min(pid) from pg_stat_activity where application_name = 'pgbench'"))
        attach_under_load("postgresql", backend, load, s.is_unhurt)
        wait_until(lambda: sql("select count(*) from pg_stat_activity where application_name = 'pgbench'") == "0", "pgbench does not end")
        good = sql("select (select sum(abalance) from pgbench_accounts) = sum(delta) and (select sum(bbalance) from pgbench_branches) = sum(delta) from pgbench_history")
        require(good == "t", "its tables do not agree")
        require("ERROR" not in (work / "log").read_text(), "its log says ERROR")


if __name__ == "__main__":
    main()
