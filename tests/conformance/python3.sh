#!/bin/sh
# SPDX-License-Identifier: MIT
# python3: subprocess, threading, signal, ctypes and faulthandler in one program; the three python3-* files go deeper.
# small
# needs: python3

cat >work.py <<'PY'
import asyncio, concurrent.futures, ctypes, ctypes.util, faulthandler, gc, hashlib, json, math, mmap, multiprocessing, os, random, re
import select, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time, zlib

# -- computing
random.seed(7)
data = bytes(random.randrange(256) for _ in range(20000)) * 3
print("hashes", hashlib.sha256(data).hexdigest()[:16], hashlib.blake2b(data).hexdigest()[:16], zlib.crc32(zlib.compress(data)))
print("json", len(json.dumps([{"k": i, "v": [i / 7] * 3} for i in range(500)])), 3**200 % 10**9, sum(i**0.5 for i in range(2000)))
print("regex", len(re.findall(r"(\d)(?=(\d{3})+$)", "1234567890" * 20)), sorted({w: len(w) for w in sys.copyright.split()}.items())[:1])
db = sqlite3.connect(":memory:")
db.create_function("odd", 1, lambda n: n % 2)
db.executescript("create table t(n); " + "".join(f"insert into t values({i * 7919 % 101});" for i in range(200)))
print("sqlite", db.execute("select count(*), sum(n) from t where odd(n)").fetchone())

# -- threads
count, lock, box = 0, threading.Lock(), []
def work(n):
    global count
    for i in range(300):
        with lock:
            count += n
    box.append(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
[t.start() for t in threads]
[t.join() for t in threads]
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    squares = sum(pool.map(lambda x: x * x, range(400)))
print("threads", count, sorted(box), squares)

# -- children
print("run", subprocess.run(["tr", "a-z", "A-Z"], input=b"through a pipe", capture_output=True).stdout)
print("status", [subprocess.call(["sh", "-c", c]) for c in ("exit 3", "kill -9 $$", "kill -SEGV $$")])
try:
    subprocess.Popen(["/no/such/program"])
except FileNotFoundError as e:
    print("error", e)
p = subprocess.Popen("echo $0 $1; sleep 60", shell=True, stdout=subprocess.PIPE, preexec_fn=os.setsid, close_fds=True)
print("line", p.stdout.readline())
os.killpg(p.pid, signal.SIGTERM)
print("ended", p.wait())
pid = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 21"], os.environ)
print("spawned", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
r, w = os.pipe()
if not os.fork():
    os.write(w, b"from the child")
    os._exit(8)
print("forked", os.read(r, 100), os.waitstatus_to_exitcode(os.wait()[1]))
for method in ("fork", "spawn", "forkserver"):
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(method, pool.map(math.factorial, range(5)))

# -- signals
seen = []
signal.signal(signal.SIGALRM, lambda s, f: seen.append(s))
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while len(seen) < 10:
    hashlib.sha1(data).digest()
reader, writer = socket.socketpair()
threading.Timer(0.1, writer.send, (b"x",)).start()
print("retried", reader.recv(1))
signal.setitimer(signal.ITIMER_REAL, 0)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
signal.raise_signal(signal.SIGUSR2)
print("pending", sorted(signal.sigpending()), signal.sigwait([signal.SIGUSR1, signal.SIGUSR2]))
signal.signal(signal.SIGUSR1, lambda s, f: (_ for _ in ()).throw(KeyError("from a handler")))
try:
    signal.raise_signal(signal.SIGUSR1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
    time.sleep(60)
except KeyError as e:
    print("raised", e)
print("timed out", signal.sigtimedwait([signal.SIGUSR2], 0.01))

# -- ctypes
libc = ctypes.CDLL(None)
Compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
array = (ctypes.c_int * 200)(*[i * 31 % 199 for i in range(200)])
libc.qsort(array, 200, 4, Compare(lambda a, b: a[0] - b[0]))
class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_char * 10)]
libc.strtod.restype = ctypes.c_double
print("ctypes", array[0], array[199], libc.strlen(b"four"), libc.strtod(b"2.5", None), ctypes.sizeof(Pair), Pair(1.5, b"x").b)
libc.snprintf(buf := ctypes.create_string_buffer(40), 40, b"%d %.2f %s", 7, ctypes.c_double(1.25), b"text")
print("varargs", buf.value)

# -- mappings, coroutines, deep recursion, garbage
with tempfile.TemporaryFile() as f:
    f.truncate(8192)
    m = mmap.mmap(f.fileno(), 8192)
    m[4000:4010] = b"0123456789"
    print("mapping", m.find(b"456"))
async def main():
    p = await asyncio.create_subprocess_exec("cat", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = await p.communicate(b"async")
    return out, await asyncio.gather(*(asyncio.sleep(0.01, i) for i in range(5)))
print("asyncio", asyncio.run(main()))
def deep(n):
    return deep(n + 1)
try:
    deep(0)
except RecursionError as e:
    print("recursion", e)
class Node: pass
for i in range(2000):
    a, b = Node(), Node()
    a.b, b.a = b, a
print("garbage", gc.collect() > 100)

# -- faulthandler: children that crash on purpose
for code in ("faulthandler._sigsegv()", "faulthandler._sigabrt()", "faulthandler._sigfpe()", "faulthandler._stack_overflow()",
             "import ctypes; ctypes.string_at(0)", "import os, signal; os.kill(os.getpid(), signal.SIGBUS)"):
    c = subprocess.run([sys.executable, "-X", "faulthandler", "-c", "import faulthandler\ndef f():\n  " + code + "\nf()"], capture_output=True, text=True)
    print(c.returncode, c.stderr.splitlines()[0].split(" (")[0], "in f" in c.stderr)
faulthandler.register(signal.SIGUSR2, file=sys.stdout, all_threads=False)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR2])
sys.stdout.flush()
os.kill(os.getpid(), signal.SIGUSR2)
PY
$GAIT python3 -c "$(cat work.py)" 2>err
echo "status $?"
printf 'import sys\nfor l in sys.stdin: print(l[::-1].strip())\nsys.exit(5)\n' >reverse.py
echo word | $GAIT python3 reverse.py
echo "status $?"
