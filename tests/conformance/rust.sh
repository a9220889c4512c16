#!/bin/sh
# SPDX-License-Identifier: MIT
# A Rust program with threads: channels, scoped threads, panics that unwind, a guard page below each stack.
# needs: rustc

cat >work.rs <<'RS'
use std::collections::{BTreeMap, HashMap};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Barrier, Condvar, Mutex, RwLock};
use std::{env, panic, thread};

struct Noisy(&'static str, Arc<AtomicU64>);
impl Drop for Noisy {
    fn drop(&mut self) { self.1.fetch_add(self.0.len() as u64, Ordering::SeqCst); }
}

fn collatz(mut n: u64) -> u32 {
    let mut steps = 0;
    while n != 1 { n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 }; steps += 1; }
    steps
}

fn deep(n: u64) -> u64 {
    let block = [n; 64];
    if n == u64::MAX { 0 } else { deep(n + 1) + block[(n % 64) as usize] }
}

fn main() {
    match env::args().nth(1).as_deref() {
        Some("overflow") => { println!("{}", thread::spawn(|| deep(0)).join().unwrap()); return }
        Some("abort") => { panic::set_hook(Box::new(|_| std::process::abort())); panic!() }
        Some("bounds") => { let v: Vec<u32> = (0..10).collect(); println!("{}", v[env::args().count() * 10]); return }
        _ => {}
    }
    // many threads, shared state
    let total = Arc::new(AtomicU64::new(0));
    let map = Arc::new(Mutex::new(BTreeMap::new()));
    let best = Arc::new(RwLock::new((0u32, 0u64)));
    let barrier = Arc::new(Barrier::new(8));
    let workers: Vec<_> = (0..8u64).map(|id| {
        let (total, map, best, barrier) = (total.clone(), map.clone(), best.clone(), barrier.clone());
        thread::Builder::new().name(format!("worker {id}")).stack_size(128 << 10).spawn(move || {
            barrier.wait();
            for n in (id * 2500 + 1)..=(id * 2500 + 2500) {
                let s = collatz(n);
                total.fetch_add(s as u64, Ordering::Relaxed);
                *map.lock().unwrap().entry(s).or_insert(0u32) += 1;
                if s > best.read().unwrap().0 {
                    let mut b = best.write().unwrap();
                    if s > b.0 { *b = (s, n) }
                }
            }
            thread::current().name().unwrap().to_owned()
        }).unwrap()
    }).collect();
    let names: Vec<_> = workers.into_iter().map(|w| w.join().unwrap()).collect();
    println!("{} {:?} {} {}", total.load(Ordering::SeqCst), best.read().unwrap(), map.lock().unwrap().len(), names.join(","));

    // a pipeline of channels
    let (tx, rx) = mpsc::sync_channel::<u64>(16);
    let (tx2, rx2) = mpsc::channel();
    let stage = thread::spawn(move || for x in rx { tx2.send(x * x % 1009).unwrap() });
    let feed: Vec<_> = (0..4).map(|k| { let tx = tx.clone(); thread::spawn(move || for i in 0..2000 { tx.send(i * 4 + k).unwrap() }) }).collect();
    drop(tx);
    println!("channels {}", rx2.iter().sum::<u64>());
    feed.into_iter().for_each(|f| f.join().unwrap());
    stage.join().unwrap();

    // panics: unwinding runs destructors, poisons locks
    panic::set_hook(Box::new(|_| {}));
    let dropped = Arc::new(AtomicU64::new(0));
    let mut caught = 0;
    for i in 0..500u64 {
        let d = dropped.clone();
        caught += panic::catch_unwind(move || { let _a = Noisy("ab", d.clone()); let _b = Noisy("c", d); if i % 2 == 0 { panic!("{i}") } }).is_err() as u32;
    }
    let poisoned = Arc::new(Mutex::new(0));
    let p = poisoned.clone();
    let failed = thread::spawn(move || { let _guard = p.lock().unwrap(); panic!("holding") }).join().is_err();
    println!("panics {caught} {} {failed} {}", dropped.load(Ordering::SeqCst), poisoned.is_poisoned());

    // condition variables, borrowed data in scoped threads
    let pair = (Mutex::new(0), Condvar::new());
    let mut data: Vec<u64> = (0..50_000).map(|i| i * 7919 % 50_021).collect();
    thread::scope(|s| {
        for part in data.chunks_mut(12_500) {
            let pair = &pair;
            s.spawn(move || { part.sort_unstable(); *pair.0.lock().unwrap() += 1; pair.1.notify_all() });
        }
        let mut n = pair.0.lock().unwrap();
        while *n < 4 { n = pair.1.wait(n).unwrap() }
    });
    data.sort();
    println!("sorted {} {}", data[0], data[49_999]);

    // strings, hashing, 128-bit and floating-point arithmetic
    let mut words: HashMap<String, usize> = HashMap::new();
    for i in 0..20_000usize { *words.entry(format!("w{}", i * i % 997)).or_default() += i }
    let mut top: Vec<_> = words.iter().map(|(w, n)| (*n, w.as_str())).collect();
    top.sort_by(|a, b| b.cmp(a));
    let wide = (1..60u128).product::<u128>() % 1_000_000_007_000_003;
    let real: f64 = (1..100_000).map(|i| (i as f64).sqrt().sin()).sum();
    println!("{:?} {wide} {real:.9}", &top[..2]);

    // sockets and a child
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = server.local_addr().unwrap();
    let echo = thread::spawn(move || {
        for c in server.incoming().take(5) { let mut c = c.unwrap(); let mut b = Vec::new(); c.read_to_end(&mut b).unwrap(); b.reverse(); c.write_all(&b).unwrap() }
    });
    for i in 0..5 {
        let mut c = TcpStream::connect(addr).unwrap();
        write!(c, "message {i}").unwrap();
        c.shutdown(std::net::Shutdown::Write).unwrap();
        let mut s = String::new();
        c.read_to_string(&mut s).unwrap();
        print!("{s};");
    }
    echo.join().unwrap();
    let mut child = Command::new("tr").args(["a-z", "A-Z"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"through a child").unwrap();
    println!(" {}", String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap());
    println!("{:?}", Command::new("/no/such/program").spawn().map_err(|e| e.kind()).err());
}
RS
# The compiler runs natively and once: it is a program of its own size.
[ "$CACHE/rust" -nt "$0" ] || rustc -O --edition 2021 -o "$CACHE/rust" work.rs || exit 1
$GAIT "$CACHE/rust"
echo "status $?"
for way in overflow abort bounds; do
    $GAIT "$CACHE/rust" $way 2>err
    echo "$way $?"
    grep -o -E "has overflowed its stack|index out of bounds.*" err
done
RUST_BACKTRACE=1 $GAIT "$CACHE/rust" bounds 2>&1 | grep -c -E 'rust::main|work::main|rust_begin_unwind'
