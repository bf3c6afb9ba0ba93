//go:build unix

package engine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestStoppedHolder stops the process that has a lease until another has it. What the process is asked while
// it is stopped, it answers first when it wakes.
func TestStoppedHolder(t *testing.T) {
	if url := os.Getenv("ENGINE_TEST_HOLDER"); url != "" {
		holdAndAnswer(t, url)
		return
	}
	t.Parallel()
	s := startServer(t)
	cmd := exec.Command(os.Args[0], "-test.run=^TestStoppedHolder$")
	cmd.Env, cmd.Stderr = append(os.Environ(), "ENGINE_TEST_HOLDER="+s.ClientURL()), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(out)
	answer := func(want string) {
		t.Helper()
		for lines.Scan() {
			if got, is := strings.CutPrefix(lines.Text(), "held "); is {
				if got != want {
					t.Errorf("held %s, want %s", got, want)
				}
				return
			}
		}
		t.Fatal("no answer")
	}
	fmt.Fprintln(in)
	answer("true")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus // it does not stop at once
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("the process is not stopped: %v, %v", status, err)
	}
	fmt.Fprintln(in)
	lease := openUp(t, s.ClientURL(), "b").Lease("x")
	until(t, "b has it", lease.OnHolder, mine)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	answer("false")
}

// holdAndAnswer gets a lease and then says for each line of its input whether it has it still.
func holdAndAnswer(t *testing.T, url string) {
	lease := openUp(t, url, "a", lasting).Lease("x")
	until(t, "held", lease.OnHolder, mine)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		_, held := lease.Held()
		fmt.Println("held", held)
	}
}
