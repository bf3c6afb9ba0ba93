package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func TestCommandInput(t *testing.T) {
	b := open(t, Options{})
	const arguments = `{"a":12345678901234567890,"b":"<ä>","c":1.0}`
	r := sourcetest.Do(t, sourcetest.Tool(t, b, spec("cat", "")), arguments)
	if text(t, r) != arguments || string(r.Structured()) != arguments || r.IsError() {
		t.Errorf("%s", r.JSON)
	}
	if r = sourcetest.Do(t, sourcetest.Tool(t, b, spec("cat", `"stdin":false`)), arguments); text(t, r) != "" || r.Structured() != nil {
		t.Errorf("%s", r.JSON)
	}
	large := `{"a":"` + strings.Repeat("x", 3<<20) + `"}`
	if got := text(t, sourcetest.Do(t, sourcetest.Tool(t, b, spec("deaf", "")), large)); got != "deaf" {
		t.Errorf("got %q", got)
	}
	if got := text(t, sourcetest.Do(t, sourcetest.Tool(t, b, spec("cat", `"maxBytes":10000000`)), large)); got != large {
		t.Errorf("got %d bytes", len(got))
	}
}

func TestCommandEnviron(t *testing.T) {
	t.Setenv("LOCAL_TEST_TOKEN", "secret")
	got := strings.Split(text(t, sourcetest.Do(t, sourcetest.Tool(t, open(t, Options{}), spec("environ", "")), `{}`)), "\n")
	if !slices.Contains(got, "PATH="+os.Getenv("PATH")) || !slices.Contains(got, childMode+"=environ") {
		t.Errorf("%q", got)
	}
	if i := slices.IndexFunc(got, func(v string) bool { return strings.Contains(v, "TOKEN") }); i >= 0 {
		t.Errorf("the command got %s", got[i])
	}
}

func TestCommandDir(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	b, err := Kind.Open(bridge.BackendConfig{Dir: dir, Log: slog.New(slog.DiscardHandler), Config: json.RawMessage(`{"type":"local"}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, c := range []struct{ more, want string }{{"", dir}, {`"dir":"sub"`, filepath.Join(dir, "sub")}} {
		if got := text(t, sourcetest.Do(t, sourcetest.Tool(t, b, spec("dir", c.more)), `{}`)); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	for spec, want := range map[string]string{
		spec("dir", `"dir":"none"`):                       "does not exist",
		`{"command":["./no-such-program"]}`:               "does not exist",
		`{"command":["mcpbridge-no-such-program"]}`:       "not found in PATH",
		`{"command":["x"],"env":{"PATH":""},"dir":"sub"}`: "no PATH",
	} {
		if _, err := sourcetest.Tool(t, b, spec).Call(t.Context(), json.RawMessage(`{}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", spec, err, want)
		}
	}
}

func TestCommandFailure(t *testing.T) {
	r := sourcetest.Do(t, sourcetest.Tool(t, open(t, Options{}), spec("fail", "")), `{}`)
	const want = "the command failed: exit status 3: first line | no such thing\nstandard output: half of it"
	if !r.IsError() || text(t, r) != want {
		t.Errorf("%s", r.JSON)
	}
}

func TestCommandFlood(t *testing.T) {
	for _, limit := range []int{1, 1000, 1001, defaultMaxBytes} {
		r := sourcetest.Do(t, sourcetest.Tool(t, open(t, Options{}), spec("flood", fmt.Sprintf(`"maxBytes":%d`, limit))), `{}`)
		got := text(t, r)
		end := fmt.Sprintf("\n... [output truncated after %d bytes]", limit)
		if !strings.HasSuffix(got, end) || len(got) > limit+len(end) || !utf8.ValidString(got) || strings.Contains(got, "\ufffd") || r.IsError() {
			t.Errorf("%d: %d bytes, …%q", limit, len(got), got[max(0, len(got)-100):])
		}
	}
}

// A meeting is a listener to which commands in the mode stay report their ids.
type meeting struct {
	testing.TB
	net.Listener
}

func newMeeting(t testing.TB) *meeting {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return &meeting{t, l}
}

// next returns the next reported id.
func (m *meeting) next() (id int) {
	m.Helper()
	conn, err := m.Accept()
	if err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() { conn.Close() })
	if _, err := fmt.Fscanln(conn, &id); err != nil {
		m.Fatal(err)
	}
	return id
}

// TestCommandRunning: one command runs, the others wait, and all end with their context.
func TestCommandRunning(t *testing.T) {
	m := newMeeting(t)
	tool := sourcetest.Tool(t, open(t, Options{}), spec("stay", `"maxRunning":1`, m.Addr().String()))
	serve := sourcetest.Serve(t, tool)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 3 {
		calls.Go(func() {
			if r := serve(ctx, tool.Name, `{}`); r.Err == nil || r.Err.Code != toolformat.Canceled {
				t.Errorf("%s, %v", r.Result, r.Err)
			}
		})
	}
	m.next()
	cancel()
	calls.Wait()
}

// TestCommandLeavesNothing: after a call, a command that ignores TERM has ended, and so has its
// child, which does the same.
func TestCommandLeavesNothing(t *testing.T) {
	sourcetest.NoLeaks(t)
	supervisor := process.NewSupervisor()
	defer supervisor.Close()
	m := newMeeting(t)
	tool := sourcetest.Tool(t, open(t, Options{Supervisor: supervisor}), spec("tree", "", m.Addr().String()))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := tool.Call(ctx, json.RawMessage(`{}`))
		done <- err
	}()
	ids := []int{m.next(), m.next()}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	for _, id := range ids {
		if runs(t, id) {
			t.Errorf("process %d still runs", id)
		}
	}
}

// TestCommandLog: the standard error of a command is logged with the name of its tool.
func TestCommandLog(t *testing.T) {
	var log bytes.Buffer
	b, err := Kind.Open(bridge.BackendConfig{Dir: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	sourcetest.Do(t, sourcetest.Tool(t, b, spec("fail", "")), `{}`)
	if got := log.String(); !strings.Contains(got, `msg="no such thing" tool=tool from=stderr`) {
		t.Errorf("%s", got)
	}
}

func BenchmarkCommand(b *testing.B) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		b.Skip("there is no cat")
	}
	tool := sourcetest.Tool(b, open(b, Options{}), `{"command":["cat"]}`)
	begun := time.Now()
	for range 50 {
		cmd := exec.Command(cat)
		cmd.Stdin = strings.NewReader(`{"a":1}`)
		if _, err := cmd.Output(); err != nil {
			b.Fatal(err)
		}
	}
	bare := time.Since(begun) / 50
	for b.Loop() {
		if _, err := tool.Call(b.Context(), json.RawMessage(`{"a":1}`)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(bare), "×bare")
}

// With an output schema, any JSON is structured content.
// TestSlowReader: output is not cut because its reader is late.
func TestSlowReader(t *testing.T) {
	child, err := process.Start(process.Command{Path: os.Args[0], Env: process.Environ(map[string]string{childMode: "deaf"})})
	if err != nil {
		t.Fatal(err)
	}
	defer child.Stop()
	<-child.Done()
	out, read := &output{limit: 100}, make(chan struct{})
	time.AfterFunc(3*outputWait, func() {
		defer close(read)
		_, _ = io.Copy(out, child.Stdout)
	})
	if err := awaitOutput(t.Context(), child, read); err != nil || string(out.kept) != "deaf" {
		t.Errorf("got %q, %v", out.kept, err)
	}
}

func TestCommandOutput(t *testing.T) {
	b := open(t, Options{})
	for schema, want := range map[string]string{"": "", `{"type":"array"}`: `[1, 2]`} {
		definition := toolformat.Tool{Name: "tool", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(schema)}
		if schema == "" {
			definition.OutputSchema = nil
		}
		tool, _, err := b.Tool(definition, json.RawMessage(spec("cat", "")))
		if err != nil {
			t.Fatal(err)
		}
		r := sourcetest.Do(t, tool, "[1, 2]\n")
		if text(t, r) != "[1, 2]\n" || string(r.Structured()) != want {
			t.Errorf("%s: %s", schema, r.JSON)
		}
	}
}
