// Guest is what the tests run in the sandbox: its argument mode says what it does.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	var in struct {
		Mode string
		N    int
	}
	if err := json.NewDecoder(os.Stdin).Decode(&in); err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		os.Exit(2)
	}
	switch in.Mode {
	case "double":
		json.NewEncoder(os.Stdout).Encode(map[string]int{"twice": 2 * in.N})
	case "spin":
		for {
			in.N++
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "memory":
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := range b {
				b[i] = 1
			}
			all = append(all, b)
		}
	case "recurse":
		fmt.Println(recurse(1))
	case "flood":
		for range in.N {
			os.Stdout.WriteString(strings.Repeat("äöü", 1000))
			os.Stderr.WriteString(strings.Repeat("no ", 1000))
		}
	case "exit":
		fmt.Println("half of it")
		fmt.Fprintln(os.Stderr, "no such thing")
		os.Exit(in.N)
	case "panic":
		panic("on purpose")
	case "clock":
		fmt.Print(time.Now().Unix())
	case "escape":
		json.NewEncoder(os.Stdout).Encode(map[string]any{"got": escape(), "environ": os.Environ(), "args": os.Args})
	}
}

func recurse(n int) int {
	var pad [1024]byte
	pad[n%1024] = byte(n)
	return recurse(n+1) + int(pad[0])
}

// escape tries to get out, and says what it got.
func escape() []string {
	got := []string{}
	for _, path := range []string{"/", ".", "..", "/etc/passwd", "../../etc/passwd", "/proc/self/environ", "/dev/null", "C:\\", "main.go", "/tmp"} {
		if _, err := os.ReadFile(path); err == nil {
			got = append(got, "read "+path)
		}
		if _, err := os.ReadDir(path); err == nil {
			got = append(got, "list "+path)
		}
		if _, err := os.Stat(path); err == nil {
			got = append(got, "stat "+path)
		}
	}
	for _, path := range []string{"/tmp/guest", "guest", "../guest"} {
		if os.WriteFile(path, []byte("x"), 0o600) == nil || os.Mkdir(path, 0o700) == nil || os.Symlink("/etc", path) == nil {
			got = append(got, "write "+path)
		}
	}
	for fd := uintptr(3); fd < 64; fd++ {
		if _, err := os.NewFile(fd, "fd").Stat(); err == nil {
			got = append(got, fmt.Sprint("descriptor ", fd))
		}
	}
	if c, err := net.DialTimeout("tcp", "127.0.0.1:22", time.Second); err == nil {
		// Without a network, Go has a pretended one in the program itself.
		if _, err := c.Write([]byte("x")); err == nil {
			got = append(got, "dial")
		}
	}
	if os.Getenv("PATH") != "" || os.Getenv("HOME") != "" {
		got = append(got, "environment")
	}
	return got
}
