#!/bin/sh
# SPDX-License-Identifier: MIT
# node: V8's tiers of generated code with deoptimisation, worker threads, WebAssembly that traps, profiling by signal, children.
# needs: node
# sink: decode

cat >work.js <<'JS'
const { Worker, isMainThread, parentPort, workerData } = require("worker_threads");
const { spawnSync, spawn, fork } = require("child_process");
const crypto = require("crypto"), fs = require("fs"), net = require("net"), vm = require("vm"), zlib = require("zlib"), v8 = require("v8");
const say = (...a) => console.log(...a);

// Hot functions that change their minds: shapes, integer overflow, holes, a prototype edited late.
function compute() {
  class P { constructor(x, y) { this.x = x; this.y = y; } sum() { return this.x + this.y; } }
  const f = (o) => o.sum() * 2;
  let t = 0;
  for (let i = 0; i < 300000; i++) t = (t + f(new P(i, 1))) | 0;
  say("monomorphic", t);
  for (const o of [{ sum: () => 1.5 }, { a: 1, sum() { return 2n; } }, { sum: () => "s" }]) { try { say("other shapes", String(f(o))); } catch (e) { say(e.name); } }
  P.prototype.sum = function () { return this.x - this.y; };
  for (let i = 0, u = 0; i < 100000; i++) { u = (u + f(new P(i, 1))) | 0; if (i === 99999) say("new prototype", u); }
  let n = 1; for (let i = 0; i < 100; i++) n = n * 3 + 1; say("overflow", n);
  const a = []; for (let i = 0; i < 50000; i++) a.push(i); a[10] = 1.5; a[20] = "x"; delete a[30]; say("elements", a.reduce((s, v) => s + (+v || 0), 0));
  const sieve = new Uint8Array(200000); let primes = 0;
  for (let i = 2; i < sieve.length; i++) if (!sieve[i]) { primes++; for (let k = i * i; k < sieve.length; k += i) sieve[k] = 1; }
  say("primes", primes, (2n ** 500n % 1000000007n).toString(), Math.hypot(3, 4), (0.1 + 0.2).toFixed(20));
  say("regexp", "word1 word22 word333 ".repeat(300).replace(/(\w+?)(\d+)\s/g, (m, w, d) => d.length + w).length, /^(a+)+$/.test("a".repeat(18) + "b"));
  const gen = (function* () { let [x, y] = [0, 1]; for (;;) { yield x; [x, y] = [y, (x + y) % 1000003]; } })();
  let last; for (let i = 0; i < 20000; i++) last = gen.next().value; say("generators", last);
  for (let i = 0; i < 300; i++) if (new Function("x", `return x * ${i} + ${i % 7}`)(2) !== 2 * i + i % 7) say("wrong", i);
  say("contexts", vm.runInNewContext("[...Array(100).keys()].map(x => x * x).reduce((a, b) => a + b)"));
  const deep = (d) => deep(d + 1) + 1; try { deep(0); } catch (e) { say(e.name); }
  let caught = 0; for (let i = 0; i < 20000; i++) { try { if (i % 3) null.x; } catch (e) { caught += e instanceof TypeError; } } say("caught", caught);
  let keep = []; for (let i = 0; i < 200000; i++) { keep.push({ i, s: "x" + i }); if (keep.length > 5000) keep = keep.slice(2500); } say("garbage", keep.length);
  say("hash", crypto.createHash("sha256").update(zlib.deflateSync(Buffer.alloc(300000, "abc"))).digest("hex").slice(0, 16), v8.deserialize(v8.serialize({ a: [1, { b: 2 }] })).a[1].b);
}

// Modules assembled by hand: a recursion, a loop over memory, and five ways to trap.
function wasm() {
  const build = (code) => { // a module of one exported function and one page of memory
    const s = (id, b) => [id, b.length, ...b], body = [0x01, 0x01, 0x7f, ...code, 0x0b];
    return new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...s(1, [1, 0x60, 1, 0x7f, 1, 0x7f]),
      ...s(3, [1, 0]), ...s(5, [1, 0, 1]), ...s(7, [1, 1, 0x66, 0, 0]), ...s(10, [1, body.length, ...body])]))).exports.f;
  };
  const fib = build([0x20, 0, 0x41, 2, 0x48, 0x04, 0x7f, 0x20, 0, 0x05, 0x20, 0, 0x41, 1, 0x6b, 0x10, 0, 0x20, 0, 0x41, 2, 0x6b, 0x10, 0, 0x6a, 0x0b]);
  const fill = build([0x03, 0x40, 0x20, 0, 0x41, 4, 0x6c, 0x20, 0, 0x36, 2, 0, 0x20, 0, 0x41, 1, 0x6b, 0x21, 0, 0x20, 0, 0x0d, 0, 0x0b, 0x41, 0xe4, 0, 0x28, 2, 0]);
  const load = build([0x20, 0, 0x28, 2, 0]), divide = build([0x41, 1, 0x20, 0, 0x6d]), none = build([0x00]), forever = build([0x20, 0, 0x10, 0]);
  say("wasm", fib(22), fill(16000), load(0));
  for (const [f, x] of [[load, 65536], [load, -8], [divide, 0], [none, 0], [forever, 0]]) try { f(x); } catch (e) { say("trap", e.message); }
}

async function threads() {
  const shared = new Int32Array(new SharedArrayBuffer(64));
  const code = `const { workerData: { shared, id }, parentPort } = require("worker_threads");
    for (let i = 0; i < 20000; i++) Atomics.add(shared, 0, id);
    Atomics.add(shared, 1, 1); Atomics.notify(shared, 1);
    while (Atomics.load(shared, 1) < 4) Atomics.wait(shared, 1, Atomics.load(shared, 1), 100);
    let s = 0; const a = []; for (let i = 0; i < 100000; i++) { a[i % 1000] = { i }; s = (s * 31 + i) | 0; }
    parentPort.once("message", (m) => { parentPort.postMessage(m.map((x) => x + s)); });`;
  const workers = [1, 2, 3, 4].map((id) => new Worker(code, { eval: true, workerData: { shared, id } }));
  const exits = workers.map((w) => new Promise((done) => w.once("exit", done)));
  const answers = await Promise.all(workers.map((w, i) => new Promise((done) => { w.once("message", done); w.postMessage([i, i * 2]); })));
  await Promise.all(exits);
  say("threads", shared[0], answers.flat().join());
  const failing = new Worker("null.x", { eval: true });
  say("worker error", await new Promise((done) => failing.once("error", (e) => done(e.name))));
  const endless = new Worker("for (;;);", { eval: true });
  await new Promise((done) => endless.once("online", done));
  say("terminated", await endless.terminate());
}

async function outside() {
  say("spawned", spawnSync("tr", ["a-z", "A-Z"], { input: "text" }).stdout.toString(), spawnSync("sh", ["-c", "exit 5"]).status, spawnSync("sh", ["-c", "kill -9 $$"]).signal, spawnSync("/no/such").error.code);
  const child = spawn("sleep", ["60"]); child.kill("SIGTERM");
  say("killed", await new Promise((done) => child.once("exit", (c, s) => done(s))));
  const seen = []; process.on("SIGUSR2", (s) => seen.push(s));
  for (let i = 0; i < 3; i++) { process.kill(process.pid, "SIGUSR2"); await new Promise((r) => { const t = () => (seen.length > i ? r() : setTimeout(t, 5)); t(); }); }
  say("signals", seen.join());
  const server = net.createServer((c) => c.on("data", (d) => c.end(d.toString().toUpperCase()))).listen(0, "127.0.0.1");
  await new Promise((r) => server.once("listening", r));
  const replies = await Promise.all([..."abcdef"].map((l) => new Promise((done) => { const c = net.connect(server.address().port, "127.0.0.1", () => c.write("hello " + l)); c.on("data", (d) => done(d.toString())); })));
  server.close(); say("sockets", replies.join());
  fs.writeFileSync("f", "x".repeat(100000)); say("files", (await Promise.all([1, 2, 3, 4, 5, 6].map(() => fs.promises.readFile("f")))).map((b) => b.length).join());
  say("pool", (await Promise.all([1, 2, 3, 4, 5].map((i) => new Promise((r) => crypto.pbkdf2("p", "s" + i, 2000, 8, "sha256", (e, k) => r(k.toString("hex"))))))).join());
}

process.on("exit", (c) => say("exit", c));
compute(); if (globalThis.WebAssembly) wasm(); threads().then(outside).then(() => { process.exitCode = 3; });
JS
$GAIT node work.js >plain
echo "status $?"
cat plain
# Every tier by itself, everything optimised at once, a collection at every turn, a sampling profiler on SIGPROF.
for flags in --jitless "--no-opt --no-sparkplug" "--always-sparkplug --interrupt-budget=1000" "--max-semi-space-size=1 --gc-interval=2000" --cpu-prof; do
    $GAIT node $flags work.js >other 2>err
    echo "$flags: status $?, $(diff plain other | grep '^[<>]' | grep -v -c -E ' (wasm|trap) ') lines differ"
done
ls *.cpuprofile >/dev/null && echo profile
$GAIT node -e 'process.abort()' 2>/dev/null
echo "abort $?"
$GAIT node -e 'throw new Error("on purpose")' 2>&1 | grep -c 'Error: on purpose'
