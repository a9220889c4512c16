#!/bin/sh
# SPDX-License-Identifier: MIT
# OpenJDK: javac of a hundred classes, a benchmark for C2, garbage collectors under stress; interpreted, and with every compiler.
# needs: java javac
# sink: decode

i=0
mkdir src
while [ $i -lt 100 ]; do
    cat >src/C$i.java <<END
import java.util.*;
import java.util.function.*;

public class C$i extends Base implements Comparable<C$i> {
    enum Kind { RED, GREEN, BLUE; Kind next() { return values()[(ordinal() + 1) % 3]; } }
    record Pair<A, B>(A a, B b) { }
    private final Map<String, List<Integer>> map = new TreeMap<>();
    private int state = $i;
    @Override public int run(int x) {
        IntBinaryOperator f = (a, b) -> a * $((i % 7 + 2)) + b + state;
        for (int k = 0; k < 20; k++) map.computeIfAbsent("k" + (k % $((i % 5 + 1))), s -> new ArrayList<>()).add(f.applyAsInt(x, k));
        int sum = map.values().stream().flatMap(List::stream).mapToInt(Integer::intValue).sum();
        Object o = (x % 2 == 0) ? new Pair<>(sum, "even") : Kind.values()[x % 3].next();
        if (o instanceof Pair<?, ?> p && p.a() instanceof Integer n) return n + p.b().hashCode() % 10;
        return switch ((Kind) o) { case RED -> 1; case GREEN -> sum; case BLUE -> { try { yield sum / (x - x); } catch (ArithmeticException e) { yield -1; } } };
    }
    @Override public int compareTo(C$i o) { return Integer.compare(state, o.state); }
}
END
    i=$((i + 1))
done
echo 'public abstract class Base { public abstract int run(int x); }' >src/Base.java
cat >src/Main.java <<'END'
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.lang.ref.*;
import java.nio.*;

public class Main {
    static volatile Object sink;
    static int depth;
    static void overflow() { depth++; overflow(); }
    static int length(String s) { return s.length(); }

    static void hot(int scale) { // loops that C2 unrolls, vectorises and deoptimises
        double[] a = new double[10_000], b = new double[10_000];
        int[] hist = new int[256];
        long hash = 7;
        for (int r = 0; r < scale; r++) {
            for (int i = 0; i < a.length; i++) { a[i] += i * 0.5; b[i] = Math.sqrt(a[i]) + b[i] * 0.25; }
            for (int i = 0; i < a.length; i++) hist[(int) b[i] & 255]++;
            for (int i = 0; i < a.length; i++) hash = hash * 31 + (i ^ (hash >>> 7));
        }
        System.out.println("hot " + hash + " " + Arrays.hashCode(hist));
        int nulls = 0;
        for (int i = 0; i < 20_000; i++) try { nulls += length(i % 1000 == 999 ? null : "x"); } catch (NullPointerException e) { nulls += 100; }
        int bounds = 0;
        for (int i = 0; i < 20_000; i++) try { bounds += hist[i % 300]  & 1; } catch (ArrayIndexOutOfBoundsException e) { bounds++; }
        System.out.println("implicit checks " + nulls + " " + bounds);
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < 20_000; i++) { s.append(i % 10); if (s.length() > 1000) s.setLength(10); }
        System.out.println("strings " + s.toString().hashCode() + " " + "a,b,,c".split(",").length + " " + String.format("%.3f %x", Math.sin(1), 255));
        Object o = 1; int types = 0;
        for (int i = 0; i < 50_000; i++) { o = switch (i % 4) { case 0 -> Integer.valueOf(i); case 1 -> "s"; case 2 -> new int[1]; default -> 2.5; }; types += o instanceof Integer n && n == i ? 1 : o instanceof String ? 2 : 3; }
        System.out.println("types " + types);
        try { overflow(); } catch (StackOverflowError e) { System.out.println("overflow " + (depth > 500)); }
    }

    static void garbage(int rounds) throws Exception { // survivors, large arrays, weak references, direct memory
        List<byte[]> keep = new LinkedList<>();
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        List<Reference<?>> refs = new ArrayList<>();
        Random random = new Random(7);
        long bytes = 0;
        for (int i = 0; i < rounds; i++) {
            byte[] b = new byte[random.nextInt(i % 100 == 0 ? 300_000 : 3000) + 1];
            b[b.length - 1] = 1;
            bytes += b.length;
            keep.add(b);
            if (keep.size() > 400) keep.remove(random.nextInt(100));
            if (i % 500 == 0) { refs.add(new WeakReference<>(new Object(), queue)); ByteBuffer.allocateDirect(10_000).putInt(i); }
            if (i % (rounds / 4) == 0) System.gc();
        }
        System.gc();
        int cleared = 0;
        while (cleared < refs.size()) if (queue.remove(10_000) != null) cleared++; else break;
        System.out.println("garbage " + bytes + " " + keep.stream().mapToInt(b -> b[b.length - 1]).sum() + " " + (cleared == refs.size()));
        try { List<long[]> all = new ArrayList<>(); for (;;) all.add(new long[1 << 20]); } catch (OutOfMemoryError e) { System.out.println("out of memory"); }
    }

    static void threads() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(6);
        ConcurrentHashMap<Integer, LongAdder> map = new ConcurrentHashMap<>();
        Object lock = new Object();
        int[] counter = { 0 };
        List<Future<Integer>> results = new ArrayList<>();
        for (int t = 0; t < 6; t++) { int id = t; results.add(pool.submit(() -> {
            for (int i = 0; i < 3000; i++) { map.computeIfAbsent(i % 50, k -> new LongAdder()).add(id); synchronized (lock) { counter[0]++; if (i % 100 == 0) { lock.notifyAll(); lock.wait(1); } } }
            return id; })); }
        int sum = 0; for (Future<Integer> f : results) sum += f.get();
        pool.shutdown();
        System.out.println("threads " + sum + " " + counter[0] + " " + map.values().stream().mapToLong(LongAdder::sum).sum());
        System.out.println("fork-join " + ForkJoinPool.commonPool().invoke(new RecursiveTask<Long>() { protected Long compute() { return Arrays.stream(new int[5000]).parallel().map(x -> x + 3).asLongStream().sum(); } }));
        Thread t = new Thread(() -> { try { Thread.sleep(600_000); } catch (InterruptedException e) { System.out.println("interrupted"); } }); t.start(); t.interrupt(); t.join();
        Process p = new ProcessBuilder("sh", "-c", "cat; exit 4").start(); p.getOutputStream().write("to a child".getBytes()); p.getOutputStream().close();
        System.out.println("child " + new String(p.getInputStream().readAllBytes()) + " " + p.waitFor());
    }

    public static void main(String[] args) throws Exception {
        int scale = Integer.parseInt(args[0]);
        long sum = 0;
        for (int i = 0; i < 100; i++) sum = sum * 31 + ((Base) Class.forName("C" + i).getDeclaredConstructor().newInstance()).run(i);
        System.out.println("classes " + sum);
        hot(scale); garbage(scale * 100); threads();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        System.exit(5);
    }
}
END
quiet="-Xshare:auto -XX:-UsePerfData -Xmx48m"
$GAIT javac -J-XX:-UsePerfData -d classes src/*.java
echo "javac $?, $(ls classes | wc -l) classes"
cat classes/*.class | cksum
$GAIT java $quiet -cp classes Main 120 >plain
echo "status $?"
cat plain
run() { $GAIT java $quiet "$@" >other 2>err; echo "$*: status $?, $(diff plain other | grep -c '^[<>]') lines differ"; }
run -XX:+UseParallelGC -XX:-TieredCompilation -cp classes Main 120
run -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp classes Main 120
run -XX:+UseZGC -Xcomp -XX:CompileCommand=quiet -XX:CompileOnly=Main -cp classes Main 120
run -Xint -XX:+UseG1GC -cp classes Main 120
# A signal for a thread dump, a crash with its report.
cat >Wait.java <<'END'
public class Wait { public static void main(String[] a) throws Exception { System.out.println(ProcessHandle.current().pid()); Thread.sleep(600_000); } }
END
javac -d . Wait.java
$GAIT java $quiet -cp . Wait >dump & java=$!
until [ -s dump ]; do sleep 0.1; done
kill -QUIT "$(head -n 1 dump)"
until grep -q 'Heap' dump; do sleep 0.1; done
kill -TERM "$(head -n 1 dump)"
wait $java
echo "terminated $?"
grep -c -E '"main"|at Wait.main|"Signal Dispatcher"' dump
