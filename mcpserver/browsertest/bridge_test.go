package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// running is the bridge as a process with a config.
type running struct {
	url             string // http://HOST:PORT
	program, config string // paths
	stop            func() // ends it

	mu  sync.Mutex // guards log
	log []string
}

// mustLog waits until the bridge has logged a line with all these words.
func (b *running) mustLog(t testing.TB, words ...string) {
	t.Helper()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for deadline := time.After(patience); !b.logged(words); {
		select {
		case <-poll.C:
		case <-deadline:
			t.Errorf("the bridge did not log a line with %q", words)
			return
		}
	}
}

func (b *running) logged(words []string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.log, func(line string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(line, w) })
	})
}

// build returns the path of the program, which is built once for all tests.
func build(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var built = sync.OnceValues(func() (string, error) {
	path := filepath.Join(programs, "mcpbridge")
	out, err := exec.Command("go", "build", "-o", path, "github.com/mcpbridge/mcpbridge/cmd/mcpbridge").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, err
})

// serve runs the program in front of the counting upstream until the test ends. settings are
// added to its config.
func serve(t testing.TB, program string, settings object) *running {
	t.Helper()
	config := object{
		"listen":     "127.0.0.1:0",
		"mcpServers": object{"counter": object{"command": os.Args[0], "env": object{upstreamMode: "1"}}},
	}
	for k, v := range settings {
		config[k] = v
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mcpbridge.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "serve", "--config", file)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	b := &running{program: program, config: file}
	listening, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			b.mu.Lock()
			b.log = append(b.log, lines.Text())
			b.mu.Unlock()
			if url, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
				listening <- url
			}
		}
	}()
	b.stop = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		stuck := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the bridge ended badly: %v", err)
		}
		stuck.Stop()
		if t.Failed() {
			t.Logf("the bridge's log:\n%s", strings.Join(b.log, "\n"))
		}
	})
	t.Cleanup(b.stop)
	select {
	case b.url = <-listening:
	case <-ended:
		t.Fatal("the bridge ended at once")
	case <-time.After(patience):
		t.Fatal("the bridge does not listen")
	}
	return b
}
