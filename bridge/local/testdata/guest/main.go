// Guest is what the tests run in the sandbox: its argument mode says what it does. It imports
// little, so that it is compiled quickly.
package main

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	in, err := io.ReadAll(os.Stdin)
	mode, n := member(string(in), "mode"), 0
	if err == nil && mode == "" {
		err = errors.New("expected an object with a mode, got " + string(in))
	}
	if number := member(string(in), "n"); number != "" {
		n, err = strconv.Atoi(number)
	}
	if err != nil {
		os.Stderr.WriteString("guest: " + err.Error())
		os.Exit(2)
	}
	switch mode {
	case "double":
		os.Stdout.WriteString(`{"twice":` + strconv.Itoa(2*n) + "}\n")
	case "spin":
		for {
			n++
		}
	case "sleep":
		time.Sleep(time.Hour)
	case "memory":
		var all [][]byte
		for {
			b := make([]byte, 1<<20)
			for i := 0; i < len(b); i += 4096 { // each page
				b[i] = 1
			}
			all = append(all, b)
		}
	case "recurse":
		os.Exit(recurse(1))
	case "flood":
		for range n {
			os.Stdout.WriteString(strings.Repeat("äöü", 1000))
			os.Stderr.WriteString(strings.Repeat("no ", 1000))
		}
	case "exit":
		os.Stdout.WriteString("half of it\n")
		os.Stderr.WriteString("no such thing\n")
		os.Exit(n)
	case "panic":
		panic("on purpose")
	case "clock":
		os.Stdout.WriteString(strconv.FormatInt(time.Now().Unix(), 10))
	case "escape":
		os.Stdout.WriteString("arguments " + list(os.Args) + " environment " + list(os.Environ()) + " got " + list(escape()))
	}
}

// member returns a member of an object without nesting and escapes.
func member(object, name string) string {
	_, rest, _ := strings.Cut(object, `"`+name+`":`)
	value, _, _ := strings.Cut(strings.TrimRight(rest, "}"), ",")
	return strings.Trim(value, `"`)
}

func list(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }

func recurse(n int) int {
	var pad [1024]byte
	pad[n%1024] = byte(n)
	return recurse(n+1) + int(pad[0])
}

// escape tries to get out, and says what it got. Without a descriptor of a socket there is no
// network in WASI preview 1; what package net dials is a fake within this program.
func escape() (got []string) {
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
			got = append(got, "descriptor "+strconv.Itoa(int(fd)))
		}
	}
	if os.Getenv("PATH") != "" || os.Getenv("HOME") != "" {
		got = append(got, "environment")
	}
	return got
}
