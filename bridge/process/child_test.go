package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// childMode in the environment makes the test binary one of the children below.
const childMode = "PROCESS_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is what the tests start. All that stay say "ready" first, or a pid.
func child(mode string) {
	switch mode {
	case "echo":
		io.Copy(os.Stdout, os.Stdin)
	case "idle": // reads nothing, so end of file means nothing to it
		fmt.Println("ready")
		forever()
	case "ignores TERM":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		forever()
	case "exits on TERM": // ends on TERM with a status of its own
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		fmt.Println("ready")
		<-term
		os.Exit(7)
	case "parent": // npx
		fmt.Println(spawn(os.Args[1], nil))
		forever()
	case "launcher": // leaves its child behind
		fmt.Println(spawn(os.Args[1], nil))
	case "flood":
		line := []byte(strings.Repeat("x", 99) + "\n")
		block := []byte(strings.Repeat(string(line), 10_000))
		for range 100 {
			os.Stderr.Write(block)
		}
		fmt.Println("done")
	case "fail":
		fmt.Fprintln(os.Stderr, "node:internal/modules/cjs/loader:1143\n  throw err;\n  ^\n\nError: Cannot find module 'x'\n    at Module._load")
		os.Exit(3)
	case "silent": // closes its output and lives on
		os.Stdout.Close()
		io.Copy(io.Discard, os.Stdin)
	case "final output":
		os.Stdout.WriteString(strings.Repeat("w", finalOutput()))
	case "environ":
		fmt.Print(strings.Join(os.Environ(), "\n"))
	default:
		childOfSystem(mode)
	}
}

// forever waits for an interrupt, which is never sent.
func forever() {
	interrupt := make(chan os.Signal, 1)
	signal.Notify(interrupt, os.Interrupt)
	<-interrupt
}

// spawn starts the test binary as a child in mode with our own output, waits
// until it is ready and returns its pid.
func spawn(mode string, attr *syscall.SysProcAttr) int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childMode+"="+mode)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = attr
	ready, err := cmd.StdoutPipe()
	if err != nil {
		panic(err)
	}
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	if _, err := ready.Read(make([]byte, 10)); err != nil {
		panic(err)
	}
	return cmd.Process.Pid
}

// finalOutput returns how many bytes a pipe has room for, at least.
func finalOutput() int {
	if runtime.GOOS == "windows" {
		return 4_000
	}
	return 60_000
}
