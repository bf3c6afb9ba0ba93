package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen.
const patience = time.Minute

// noRest keeps the race detector of a child from sleeping a second before exit.
const noRest = "atexit_sleep_ms=0"

// quick makes Stop rude at once.
var quick = Grace{Stdin: 10 * time.Millisecond, Term: 10 * time.Millisecond}

// patient makes Stop wait longer than the test would.
var patient = Grace{Stdin: 2 * patience, Term: 2 * patience}

func self(t *testing.T, mode string, args ...string) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: exe, Args: args, Env: Environ(map[string]string{childMode: mode, "GOCOVERDIR": t.TempDir(), "GORACE": noRest})}
}

func mustStart(t *testing.T, c Command) *Process {
	t.Helper()
	p, err := Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func await(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	if !within(patience, c) {
		t.Fatalf("%s: not in %v", what, patience)
	}
}

// line reads one line of output, "ready" of those that are.
func line(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := bufio.NewReaderSize(r, 16).ReadString('\n')
	if err != nil {
		t.Fatalf("no line: %v", err)
	}
	return strings.TrimSpace(text)
}

// eventually waits for what nothing announces: the state of another process.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	again, late := time.NewTicker(time.Millisecond), time.After(patience)
	defer again.Stop()
	for !ok() {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("%s: not in %v", what, patience)
		}
	}
}

func TestEcho(t *testing.T) {
	c := self(t, "echo")
	c.Grace = patient // it ends by itself at end of file
	p := mustStart(t, c)
	want := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // 4 MiB, more than a pipe
	go func() {
		p.Stdin.Write(want)
		p.Stdin.Close()
	}()
	got, err := io.ReadAll(p.Stdout)
	if err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes, %v; want %d", len(got), err, len(want))
	}
	await(t, "done", p.Done())
	p.Stop()
	if p.Err() != nil {
		t.Error(p.Err())
	}
	if _, err := p.Stdout.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Stop, Stdout: %v", err)
	}
	if _, err := p.Stdin.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Stop, Stdin: %v", err)
	}
}

func TestStopManyTimes(t *testing.T) {
	p := mustStart(t, self(t, "echo"))
	if p.Err() != nil {
		t.Errorf("Err while running: %v", p.Err())
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(p.Stop)
	}
	all.Wait()
	await(t, "done", p.Done())
	p.Stop()
}

func TestStopUnblocksWriter(t *testing.T) {
	c := self(t, "idle")
	c.Grace = quick
	p := mustStart(t, c)
	line(t, p.Stdout)
	wrote := make(chan error, 1)
	go func() {
		_, err := p.Stdin.Write(make([]byte, 8<<20))
		wrote <- err
	}()
	p.Stop()
	if err := <-wrote; err == nil {
		t.Error("8 MiB were written to a child that reads nothing")
	}
	if p.Err() == nil {
		t.Error("a killed child ended well")
	}
}

func TestStopUnblocksReader(t *testing.T) {
	p := mustStart(t, self(t, "echo"))
	read := make(chan error, 1)
	go func() {
		_, err := p.Stdout.Read(make([]byte, 1))
		read <- err
	}()
	p.Stop()
	if err := <-read; err == nil {
		t.Error("read something")
	}
}

func TestExitStatus(t *testing.T) {
	c := self(t, "fail")
	p := mustStart(t, c)
	await(t, "done", p.Done())
	if p.Err() == nil || p.Err().Error() != "exit status 3" {
		t.Errorf("got %v", p.Err())
	}
	if got, want := p.Tail(), "node:internal/modules/cjs/loader:1143 | Error: Cannot find module 'x'"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var exit *exec.ExitError
	if !errors.As(p.Err(), &exit) || exit.ExitCode() != 3 {
		t.Errorf("no exec.ExitError with status 3 in %v", p.Err())
	}
}

// TestEndsAtOnce: a child that ends while it is being started has started.
func TestEndsAtOnce(t *testing.T) {
	c := self(t, "fail")
	var all sync.WaitGroup
	for range 8 { // side by side the parent is slower than some of them
		all.Go(func() {
			for range 5 {
				p, err := Start(c)
				if err != nil {
					t.Error(err)
					return
				}
				<-p.Done()
			}
		})
	}
	all.Wait()
}

func TestFinalOutputIsKept(t *testing.T) {
	p := mustStart(t, self(t, "final output"))
	await(t, "done", p.Done())
	got, err := io.ReadAll(p.Stdout)
	if err != nil || len(got) != finalOutput() {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestClosedOutputIsNotTheEnd(t *testing.T) {
	c := self(t, "silent")
	c.Grace = patient
	p := mustStart(t, c)
	if got, err := io.ReadAll(p.Stdout); len(got) != 0 || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	select {
	case <-p.Done():
		t.Errorf("ended: %v", p.Err())
	default:
	}
	p.Stop()
	if p.Err() != nil {
		t.Error(p.Err())
	}
}

func TestFloodDoesNotBlock(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for name, pass := range map[string]func(string){
		"dropped": nil,
		"passed":  func(string) {},
		"stuck":   func(string) { <-release },
	} {
		t.Run(name, func(t *testing.T) {
			c := self(t, "flood")
			c.Stderr = pass
			p := mustStart(t, c)
			if got := line(t, p.Stdout); got != "done" {
				t.Errorf("got %q", got)
			}
			await(t, "done", p.Done())
			if p.Err() != nil {
				t.Error(p.Err())
			}
		})
	}
}

func TestFloodIsCounted(t *testing.T) {
	c := self(t, "flood")
	var passed, left int64
	c.Stderr = func(line string) {
		var n int64
		if _, err := fmt.Sscanf(line, "… %d bytes of standard error left out", &n); err == nil {
			left += n
		} else {
			passed += int64(len(line)) + 1
		}
	}
	began := time.Now()
	p := mustStart(t, c)
	await(t, "done", p.Done())
	if passed+left != 100_000_000 {
		t.Errorf("%d passed on and %d left out make %d", passed, left, passed+left)
	}
	if limit := burst + int64(time.Since(began).Seconds()*perSecond); passed > limit {
		t.Errorf("%d passed on, more than %d", passed, limit)
	}
}

func TestEnvIsComplete(t *testing.T) {
	t.Setenv("PROCESS_TEST_SECRET", "hunter2")
	c := self(t, "environ")
	c.Env = []string{childMode + "=environ", "GOCOVERDIR=" + t.TempDir(), "GORACE=" + noRest}
	p := mustStart(t, c)
	got, _ := io.ReadAll(p.Stdout)
	if strings.Contains(string(got), "hunter2") || !strings.Contains(string(got), childMode) {
		t.Errorf("child's environment: %s", got)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "x", 0o600)
	path := []string{"PATH=/nowhere" + string(filepath.ListSeparator) + dir}
	tests := []struct {
		c    Command
		want string
		unix bool
	}{
		{Command{}, "no command given", false},
		{Command{Path: "npx", Env: path}, `command "npx" not found in PATH (is it installed?)`, false},
		{Command{Path: "npx"}, `command "npx" not found: its environment has no PATH`, false},
		{Command{Path: "x", Dir: "/no/such", Env: path}, "working directory /no/such does not exist", false},
		{Command{Path: "x", Dir: plain, Env: path}, "working directory " + plain + " is not a directory", false},
		{Command{Path: "./no", Dir: dir}, `command "./no" does not exist`, false},
		{Command{Path: "./plain", Dir: dir}, `command "./plain" is not executable (chmod +x?)`, true},
		{Command{Path: "./" + filepath.Base(dir), Dir: filepath.Dir(dir)}, `command "./` + filepath.Base(dir) + `" is a directory`, true},
		{Command{Path: write("script", "#!/no/such/node\n", 0o700)}, `command "` + dir + `/script" cannot be started: the interpreter named in its first line does not exist`, true},
		{Command{Path: write("text", "hello\n", 0o700)}, `command "` + dir + `/text" cannot be started: it is not a program of this system (is the #! line of a script missing?)`, true},
	}
	for _, test := range tests {
		if test.unix && runtime.GOOS == "windows" {
			continue
		}
		if _, err := Start(test.c); err == nil || err.Error() != test.want {
			t.Errorf("got  %v\nwant %s", err, test.want)
		}
	}
}
