// SPDX-License-Identifier: MIT
// A server whose answers can be checked, and a client that checks them: `server SOCKET`, `server SOCKET client`.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

func answer(s string) string {
	x := sha256.Sum256([]byte(s))
	for i := 0; i < 20; i++ {
		x = sha256.Sum256(x[:])
	}
	return fmt.Sprintf("%x", x)
}

func serve(path string) {
	os.Remove(path)
	l, err := net.Listen("unix", path)
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { // timers, garbage and goroutines that come and go
		for range time.Tick(time.Millisecond) {
			var wait sync.WaitGroup
			for i := 0; i < 20; i++ {
				wait.Add(1)
				go func(n int) { _ = make([]byte, 1000*n); wait.Done() }(i)
			}
			wait.Wait()
		}
	}()
	go func() {
		for range time.Tick(200 * time.Millisecond) {
			runtime.GC()
		}
	}()
	fmt.Println("ready")
	http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, answer(r.URL.Path)) }))
}

// Says how many answers it got in each second, and complains of wrong ones and of errors.
func ask(path string) {
	var n int64
	client := http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16,
		Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	for i := 0; i < 8; i++ {
		go func(who int) {
			for k := 0; ; k++ {
				url := fmt.Sprintf("/%d/%d", who, k)
				r, err := client.Get("http://server" + url)
				if err != nil {
					fmt.Println("error:", err)
					continue
				}
				body, err := io.ReadAll(r.Body)
				r.Body.Close()
				if err != nil || string(body) != answer(url) {
					fmt.Println("a wrong answer to", url, err)
				}
				atomic.AddInt64(&n, 1)
			}
		}(i)
	}
	for range time.Tick(time.Second) {
		fmt.Println("rate", atomic.SwapInt64(&n, 0))
	}
}

func main() {
	if len(os.Args) > 2 {
		ask(os.Args[1])
	} else {
		serve(os.Args[1])
	}
}
