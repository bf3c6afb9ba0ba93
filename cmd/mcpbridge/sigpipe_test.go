//go:build unix

package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A client that reads no log and closes its end of standard error is answered all the
// same.
func TestClosedStderr(t *testing.T) {
	path, err := exec.LookPath("mcpbridge")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "stdio", "--log-level", "debug", "--", "fakeserver")
	unread, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	unread.Close()
	cmd.Stderr = stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	defer time.AfterFunc(patience, func() { cmd.Process.Kill() }).Stop()
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	stdin.Write([]byte(initialize + "\n")) // what fails here, the answer tells
	answer, err := bufio.NewReader(stdout).ReadString('\n')
	if !strings.Contains(answer, `"id":1,"result":`) {
		t.Errorf("got %q, %v; want the answer to initialize", answer, err)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the bridge ended with %v", err)
	}
}
