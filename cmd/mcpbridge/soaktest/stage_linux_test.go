package soaktest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// stage has a copy of the program and a mark of its own, by which the processes of a variant are
// found.
type stage struct {
	program, id, dir string
	lasting          *served // the bridge that goes on; nil where each cycle has its own
}

// programs is the folder of the programs that tests build; TestMain makes and removes it.
var programs string

// build builds the bridge, once, and returns the path of the program.
var build = sync.OnceValue(func() string {
	path := filepath.Join(programs, "mcpbridge")
	out, err := exec.Command("go", "build", "-tags", "nats", "-o", path, "github.com/mcpbridge/mcpbridge/cmd/mcpbridge").CombinedOutput()
	if err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	return path
})

func newStage(t *testing.T, program string) *stage {
	t.Helper()
	s := &stage{id: rand.Text(), dir: t.TempDir()}
	s.program = filepath.Join(s.dir, "mcpbridge")
	t.Cleanup(func() { // a test that fails leaves nothing either
		for pid := range processes(s.program, s.id) {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if err := os.Link(program, s.program); err != nil {
		t.Fatal(err)
	}
	for _, mode := range []string{"polite", "deaf", "stubborn"} {
		server := object{"command": os.Args[0], "env": object{childMode: mode, mark: s.id}, "sharing": "session"}
		if mode != "polite" { // the server is a grandchild, as behind npx
			server["command"], server["args"] = "sh", []string{"-c", `"$0"; :`, os.Args[0]}
		}
		text, err := json.Marshal(object{
			"mcpServers": object{"soak": server},
			"limits":     object{"sessionIdle": "5s"}, // over HTTP nothing else ends the session of a client that was killed
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.config(mode), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func (s *stage) config(mode string) string { return filepath.Join(s.dir, mode+".json") }

// stdio is the command line of the bridge over stdio in the n-th cycle.
func (s *stage) stdio(n int) []string {
	return []string{s.program, "stdio", "--alone", "--config", s.config(mode(n))}
}

// mustBeEmpty waits until no process of the stage is left.
func (s *stage) mustBeEmpty(t *testing.T) {
	t.Helper()
	var left map[int]string
	eventually(t,
		func() bool { left = processes(s.program, s.id); return len(left) == 0 },
		func() string { return fmt.Sprintf("left behind: %v", left) })
}

// served is a bridge that serves.
type served struct {
	cmd   *exec.Cmd
	url   string
	ended chan struct{} // closed when it has closed its standard error
}

// serve runs the bridge in front of a server until ctx ends, or end.
func (s *stage) serve(ctx context.Context, mode string) (*served, error) {
	return s.serveAt(ctx, "127.0.0.1:0", mode)
}

// serveAt is serve at an address, with some more environment.
func (s *stage) serveAt(ctx context.Context, address, mode string, env ...string) (*served, error) {
	cmd := exec.CommandContext(ctx, s.program, "serve", "--listen", address, "--config", s.config(mode))
	cmd.Env = append(append(os.Environ(), mark+"="+s.id), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &served{cmd: cmd, ended: make(chan struct{})}
	lines := bufio.NewReader(stderr)
	var log strings.Builder
	for b.url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			cmd.Wait()
			return nil, errors.New("the bridge does not serve: " + log.String())
		}
		log.WriteString(line)
		if url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on "); ok {
			b.url = url
		}
	}
	go func() {
		defer close(b.ended)
		io.Copy(io.Discard, lines)
	}()
	return b, nil
}

// end signals the bridge, waits until it has ended, and returns an error unless it exits with 0.
func (b *served) end(signal os.Signal) error {
	b.cmd.Process.Signal(signal)
	<-b.ended
	if err := b.cmd.Wait(); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
