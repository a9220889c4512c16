#!/bin/sh
# SPDX-License-Identifier: MIT
# Go: loops preempted by SIGURG, stacks that grow and move, garbage collection under load, faults that become panics.
# needs: go

cat >work.go <<'GO'
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	value       int
}

func tree(depth, v int) *node {
	if depth == 0 {
		return &node{value: v}
	}
	return &node{tree(depth-1, 2*v), tree(depth-1, 2*v+1), v}
}

func (n *node) sum() int {
	if n == nil {
		return 0
	}
	return n.value + n.left.sum() + n.right.sum()
}

// Grow the stack far beyond its first 2 KB, with pointers into it.
func grow(n int, p *int) int {
	var block [32]int
	block[n%32] = n
	if n == 0 {
		return *p
	}
	return grow(n-1, &block[n%32]) + block[n%32] - n
}

// One processor and a loop without calls: only a signal can take it away.
func preempted() {
	runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(4)
	var stop uint32
	var loops uint64
	done := make(chan bool)
	for i := 0; i < 3; i++ {
		go func() {
			for x := uint64(1); atomic.LoadUint32(&stop) == 0; x++ {
				if x == 0 {
					atomic.AddUint64(&loops, 1)
				}
			}
			done <- true
		}()
	}
	time.Sleep(20 * time.Millisecond)
	runtime.GC()
	atomic.StoreUint32(&stop, 1)
	for i := 0; i < 3; i++ {
		<-done
	}
	fmt.Println("preempted", loops)
}

func collected() {
	debug.SetGCPercent(20)
	defer debug.SetGCPercent(100)
	var wg sync.WaitGroup
	sums := make([]int, 4)
	for g := range sums {
		wg.Add(1)
		go func(g int) {
			defer wg.Done()
			keep := tree(10, g)
			for i := 0; i < 30; i++ {
				sums[g] += tree(9, i).sum()
			}
			sums[g] += keep.sum()
		}(g)
	}
	wg.Wait()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	finalized := make(chan int, 1)
	func() { runtime.SetFinalizer(&node{value: 5}, func(n *node) { finalized <- n.value }) }()
	for {
		runtime.GC()
		select {
		case v := <-finalized:
			fmt.Println("collected", sums, m.NumGC > 3, v)
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func channels() {
	in, out := make(chan int), make(chan int, 8)
	var wg sync.WaitGroup
	for w := 0; w < 50; w++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for x := range in {
				out <- x * x % 1009
			}
		}()
	}
	go func() {
		for i := 0; i < 5000; i++ {
			in <- i
		}
		close(in)
		wg.Wait()
		close(out)
	}()
	sum := 0
	for x := range out {
		sum += x
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	<-ctx.Done()
	fmt.Println("channels", sum, ctx.Err())
}

func faults() {
	caught := 0
	for i := 0; i < 200; i++ {
		func() {
			defer func() {
				if r := recover(); r != nil {
					var e runtime.Error
					if err, ok := r.(error); ok && errors.As(err, &e) {
						caught++
					}
				}
			}()
			var n *node
			zero := i - i
			switch i % 4 {
			case 0:
				n.value = 1
			case 1:
				fmt.Print(i / zero)
			case 2:
				fmt.Print([]int{1}[i])
			case 3:
				var m map[string]int
				m["x"] = 1
			}
		}()
	}
	fmt.Println("faults", caught)
}

func signals() {
	c := make(chan os.Signal, 10)
	signal.Notify(c, syscall.SIGUSR1, syscall.SIGWINCH)
	for i := 0; i < 20; i++ {
		syscall.Kill(os.Getpid(), syscall.SIGUSR1)
		<-c
	}
	signal.Reset()
	signal.Ignore(syscall.SIGHUP)
	syscall.Kill(os.Getpid(), syscall.SIGHUP)
	fmt.Println("signals 20")
}

func library() {
	h := sha256.New()
	var z bytes.Buffer
	w := gzip.NewWriter(io.MultiWriter(&z, h))
	for i := 0; i < 20000; i++ {
		fmt.Fprintf(w, "line %d %x\n", i, i*i)
	}
	w.Close()
	r, _ := gzip.NewReader(&z)
	text, _ := io.ReadAll(r)
	words := regexp.MustCompile(`[a-f]+\d`).FindAllString(string(text), -1)
	sort.Strings(words)
	j, _ := json.Marshal(map[string]interface{}{"words": len(words), "last": words[len(words)-1], "len": len(text)})
	f := big.NewInt(1)
	for i := int64(1); i < 400; i++ {
		f.Mul(f, big.NewInt(i))
	}
	fmt.Printf("library %s %.8x %s\n", j, h.Sum(nil), f.String()[:20])
}

func network() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, strings.ToUpper(r.URL.Path)) }))
	var wg sync.WaitGroup
	var bytes int64
	for i := 0; i < 8; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for k := 0; k < 10; k++ {
				r, err := http.Get("http://" + l.Addr().String() + "/path")
				if err != nil {
					fmt.Println(err)
					return
				}
				b, _ := io.ReadAll(r.Body)
				r.Body.Close()
				atomic.AddInt64(&bytes, int64(len(b)))
			}
		}()
	}
	wg.Wait()
	l.Close()
	fmt.Println("network", bytes)
}

func children() {
	var wg sync.WaitGroup
	for i := 0; i < 6; i++ {
		wg.Add(1)
		go func(i int) {
			defer wg.Done()
			c := exec.Command("sh", "-c", fmt.Sprintf("cat; exit %d", i))
			c.Stdin = strings.NewReader("input")
			out, err := c.Output()
			if string(out) != "input" || (i > 0) != (err != nil) {
				fmt.Println("child", i, string(out), err)
			}
		}(i)
	}
	wg.Wait()
	_, err := exec.LookPath("no-such-program")
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	killed := exec.CommandContext(ctx, "sleep", "60").Run()
	fmt.Println("children", err != nil, killed)
}

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "panic":
			go func() { panic("on purpose") }()
			time.Sleep(time.Minute)
		case "nil":
			var n *node
			fmt.Println(n.value)
		case "deadlock":
			<-make(chan int)
		case "overflow":
			debug.SetMaxStack(1 << 20)
			grow(1<<30, new(int))
		case "raise":
			syscall.Kill(os.Getpid(), syscall.SIGTERM)
			time.Sleep(time.Minute)
		}
	}
	runtime.GOMAXPROCS(4)
	profile, _ := os.Create("cpu.profile")
	pprof.StartCPUProfile(profile)
	preempted()
	collected()
	channels()
	x := 7
	fmt.Println("stacks", grow(20000, &x))
	faults()
	signals()
	library()
	network()
	children()
	pprof.StopCPUProfile()
	info, _ := profile.Stat()
	fmt.Println("profile", info.Size() > 100)
}
GO
# The toolchain runs natively and once.
export GOCACHE="$CACHE/go-build" GO111MODULE=off CGO_ENABLED=0
[ "$CACHE/go" -nt "$0" ] || go build -o "$CACHE/go" work.go || exit 1
$GAIT "$CACHE/go"
echo "status $?"
GOGC=5 GODEBUG=gcstoptheworld=1,clobberfree=1 $GAIT "$CACHE/go" >again
echo "status $?, $(wc -l <again) lines"
for way in panic nil deadlock overflow raise; do
    $GAIT "$CACHE/go" $way 2>err
    echo "$way $?"
    grep -m 2 -E '^(panic|fatal error|\[signal|runtime: goroutine stack)' err | sed 's/ addr=.*//'
done
