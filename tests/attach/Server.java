// SPDX-License-Identifier: MIT
// Threads that compute, allocate, lock, sleep and wait for timers without end. Whoever finds a wrong result says so.
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

public class Server {
    static final AtomicLong done = new AtomicLong(), ticks = new AtomicLong();

    static void complain(String what) {
        System.out.println(what);
        System.out.flush();
    }

    static long mix(long x, int n) {
        for (int i = 0; i < n; i++)
            x = Long.rotateLeft(x * 6364136223846793005L + i, 13) ^ (x >>> 7);
        return x;
    }

    static void compute(int who) {
        long expected = mix(who, 20000);
        for (;;) {
            if (mix(who, 20000) != expected)
                complain("a wrong sum");
            done.incrementAndGet();
        }
    }

    static void allocate(int who) {
        Random r = new Random(who);
        Map<Integer, byte[]> kept = new HashMap<>();
        for (;;) {
            int key = r.nextInt(2000);
            byte[] b = new byte[100 + r.nextInt(4000)];
            Arrays.fill(b, (byte) key);
            byte[] old = kept.put(key, b);
            if (old != null && (old[0] != (byte) key || old[old.length - 1] != (byte) key))
                complain("memory has changed");
            done.incrementAndGet();
        }
    }

    static void throwAndCatch() {
        int[] none = null;
        for (long n = 0;; n++) {
            try {
                if (n % 2 == 0)
                    none[0]++;
                else
                    throw new IllegalStateException();
                complain("no exception");
            } catch (NullPointerException | IllegalStateException e) {
                done.incrementAndGet();
            }
            if (n % 1000 == 0)
                LockSupportNap();
        }
    }

    static void LockSupportNap() {
        long t = System.nanoTime();
        java.util.concurrent.locks.LockSupport.parkNanos(1_000_000);
        if (System.nanoTime() < t)
            complain("time goes backwards");
    }

    static void pass(SynchronousQueue<Long> in, SynchronousQueue<Long> out) {
        try {
            for (;;)
                out.put(in.take() + 1);
        } catch (InterruptedException e) {
            complain("interrupted");
        }
    }

    static void start(Runnable r) {
        Thread t = new Thread(r);
        t.setDaemon(true);
        t.start();
    }

    public static void main(String[] args) throws Exception {
        SynchronousQueue<Long> a = new SynchronousQueue<>(), b = new SynchronousQueue<>();
        for (int i = 0; i < 2; i++) {
            int who = i;
            start(() -> compute(who));
            start(() -> allocate(who));
        }
        start(Server::throwAndCatch);
        start(() -> pass(a, b));
        ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);
        timer.scheduleAtFixedRate(ticks::incrementAndGet, 1, 1, TimeUnit.MILLISECONDS);
        System.out.println("ready");
        timer.scheduleAtFixedRate(() -> {
            long now = done.getAndSet(0);
            System.out.println("rate " + now + "\nround");
        }, 1, 1, TimeUnit.SECONDS);
        for (long n = 0;; n++) {
            a.put(n);
            Long back = b.poll(120, TimeUnit.SECONDS);
            if (back == null || back != n + 1)
                complain("a message is lost");
            if (n % 10 == 0)
                Thread.sleep(1);
        }
    }
}
