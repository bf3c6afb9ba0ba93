package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/audit"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// source answers each call, as a policy has decided about it.
type source struct{}

func (source) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return source{}, nil }
func (source) List(context.Context, bridge.ListKind) (*bridge.List, error)  { return nil, nil }
func (source) Close() error                                                 { return nil }
func (source) Do(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Reply{Result: []byte(`{}`), Decision: &bridge.Decision{Verdict: "allow", Rule: "r", By: "bob"}}
}

// begin opens an audit, and a session whose calls are in it.
func begin(t testing.TB, opts audit.Options) (*audit.Log, bridge.Session) {
	t.Helper()
	var stream observe.Stream
	l, err := audit.Open(&stream, opts)
	if err != nil {
		t.Fatal(err)
	}
	session, err := stream.Wrap(source{}, nil).Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	return l, session
}

// write makes n calls, with an audit that is opened and closed around them.
func write(t testing.TB, opts audit.Options, n int) {
	t.Helper()
	l, session := begin(t, opts)
	for i := range n {
		call(t, session, fmt.Sprint("t", i))
	}
	session.Close()
	l.Close()
}

func call(t testing.TB, session bridge.Session, tool string) {
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `","arguments":{"to":"bob","Secret":[1],"list":[],"deep":[{"secret":"x","a":1}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
}

func text(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func verify(t testing.TB, path, want string) audit.Chain {
	t.Helper()
	chain, err := audit.Verify(t.Context(), path)
	if got := fmt.Sprint(err); !strings.Contains(got, want) || err == nil && want != "<nil>" {
		t.Errorf("got %s, want %s", got, want)
	}
	return chain
}

// The chain goes on across restarts and rotation. Old files that are no longer kept do not break it.
func TestChain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opts := audit.Options{Path: path, MaxBytes: 4000, Files: 2}
	for range 12 {
		write(t, opts, 5)
	}
	chain := verify(t, path, "<nil>")
	if chain.Last != 60 || chain.First < 2 {
		t.Errorf("the chain is %+v", chain)
	}
	n := chain.First
	err := audit.Read(t.Context(), path, func(_ []byte, l *audit.Line) {
		if l.N != n || l.Principal != "ann" || l.Decision != "allow" || l.Rule != "r" || l.By != "bob" {
			t.Errorf("line %d is %+v", n, l)
		}
		n++
	})
	if err != nil || n != 61 {
		t.Errorf("read up to %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := audit.Read(ctx, path, func([]byte, *audit.Line) { cancel() }); !errors.Is(err, context.Canceled) {
		t.Errorf("it goes on: %v", err)
	}
}

// A line that was changed, removed or added is found, and a file that was cut.
func TestVerify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, audit.Options{Path: path}, 5)
	whole := text(t, path)
	lines := strings.SplitAfter(strings.TrimSuffix(whole, "\n"), "\n")
	lines[4] += "\n"
	join := func(parts ...string) string { return strings.Join(parts, "") }
	for _, c := range []struct{ text, want string }{
		{whole, "<nil>"},
		{strings.Replace(whole, `"target":"t1"`, `"target":"t9"`, 1), path + ":3: the hash of what is before line 3 is another one"},
		{strings.Replace(whole, `"target":"t4"`, `"target":"t9"`, 1), "line 5 is not the one that"},
		{join(lines[0], lines[1], lines[3], lines[4]), path + ":3: line 4 follows line 2"},
		{join(lines[0], lines[1], lines[1], lines[2], lines[3], lines[4]), path + ":3: line 2 follows line 2"},
		{join(lines[0], lines[2], lines[1], lines[3], lines[4]), path + ":2: line 3 follows line 1"},
		{join(lines[:3]...), "lines 4 to 5 are missing at its end"},
		{join(lines[0], lines[1], lines[2], lines[3]), "lines 5 to 5 are missing at its end"},
		{whole[:len(whole)-10], "lines 5 to 5 are missing at its end"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		verify(t, path, c.want)
	}
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Remove(path + ".head")
	verify(t, path, "is missing: whether there were lines after line 5 cannot be told")
}

// A crash tears the last line, or comes before the end of the chain is written down: the chain goes on.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, audit.Options{Path: path}, 3)
	head, whole := text(t, path+".head"), text(t, path)
	write(t, audit.Options{Path: path}, 2)
	more := text(t, path)[len(whole):]
	for cut := range len(more) + 1 {
		if err := os.WriteFile(path, []byte(whole+more[:cut]), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path+".head", []byte(head), 0o600); err != nil {
			t.Fatal(err)
		}
		verify(t, path, "<nil>")
		write(t, audit.Options{Path: path}, 1)
		verify(t, path, "<nil>")
	}
}

// Lines have the names of arguments, or their values without the hidden ones.
func TestArguments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, audit.Options{Path: path}, 1)
	write(t, audit.Options{Path: path, Values: true, Hidden: []string{"secret"}}, 1)
	got := text(t, path)
	for _, want := range []string{`"names":["to","Secret","list","deep"]`, `"arguments":{"to":"bob","Secret":"xxxxx","list":[],"deep":[{"secret":"xxxxx","a":1}]}`} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
}

// Two audits of one file are those of two processes.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	var sessions []bridge.Session
	var logs []*audit.Log
	for range 2 {
		l, session := begin(t, audit.Options{Path: path})
		sessions, logs = append(sessions, session), append(logs, l)
	}
	for range 500 {
		call(t, sessions[0], "a")
		call(t, sessions[1], "b")
	}
	for _, l := range logs {
		l.Close()
	}
	if chain := verify(t, path, "<nil>"); chain.Last != 1000 {
		t.Errorf("the chain is %+v", chain)
	}
}

// Calls wait for an audit that cannot be written, and none is lost.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l, session := begin(t, audit.Options{Path: path})
		call(t, session, "a")
		time.Sleep(time.Second)
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Skip("the system does not move an open file")
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made here
			t.Fatal(err)
		}
		done := make(chan bool)
		const calls = 20000
		go func() {
			for range calls {
				call(t, session, "a")
			}
			close(done)
		}()
		time.Sleep(time.Minute)
		synctest.Wait() // no attempt is under way
		select {
		case <-done:
			t.Error("no call has waited")
		default:
		}
		os.Remove(dir)
		if err := os.Rename(dir+".away", dir); err != nil {
			t.Fatal(err)
		}
		<-done
		l.Close()
		if chain := verify(t, path, "<nil>"); chain.Last != calls+1 {
			t.Errorf("the chain is %+v", chain)
		}
	})
}

// The error of Close says how many calls could not be written.
func TestMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	synctest.Test(t, func(t *testing.T) {
		l, session := begin(t, audit.Options{Path: filepath.Join(dir, "audit.jsonl")})
		if err := os.Rename(dir, dir+".away"); err != nil {
			t.Skip("the system does not move an open file")
		}
		if err := os.WriteFile(dir, nil, 0o600); err != nil { // no folder can be made here
			t.Fatal(err)
		}
		call(t, session, "a")
		time.Sleep(time.Second)
		call(t, session, "a")
		if err := l.Close(); err == nil || !strings.Contains(err.Error(), "missing in the audit: 2: ") || !strings.Contains(err.Error(), dir) {
			t.Error(err)
		}
	})
}

// Calls that end while the settings change have one line. Settings that are refused change nothing.
func TestConfigure(t *testing.T) {
	dir := t.TempDir()
	opts := audit.Options{Path: filepath.Join(dir, "audit.jsonl"), MaxBytes: 100_000, Files: 100}
	l, session := begin(t, opts)
	const calls = 2000
	done := make(chan bool)
	go func() {
		for range calls {
			call(t, session, "a")
		}
		close(done)
	}()
	for range 50 {
		opts.Values = !opts.Values
		if err := l.Configure(opts); err != nil {
			t.Fatal(err)
		}
		if err := l.Configure(audit.Options{Path: dir}); err == nil {
			t.Error("a folder for a file")
		}
	}
	<-done
	l.Close()
	if chain := verify(t, opts.Path, "<nil>"); chain.Last != calls {
		t.Errorf("the chain is %+v", chain)
	}
}

// While the file that says where the chain ends cannot be written, a call has one line.
func TestHeadUnwritable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	synctest.Test(t, func(t *testing.T) {
		l, session := begin(t, audit.Options{Path: path})
		if err := os.Mkdir(path+".head", 0o700); err != nil {
			t.Fatal(err)
		}
		call(t, session, "a")
		time.Sleep(time.Minute) // in the bubble
		call(t, session, "b")
		os.Remove(path + ".head")
		time.Sleep(time.Minute)
		l.Close()
		if chain := verify(t, path, "<nil>"); chain.Last != 2 {
			t.Errorf("the chain is %+v", chain)
		}
	})
}

// One of two processes makes no call for so long that the file it knows is not kept any more: the chain goes on.
func TestTwoProcessesRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opts := audit.Options{Path: path, MaxBytes: 2000, Files: 1}
	l, session := begin(t, opts)
	for range 10 {
		write(t, opts, 5)
	}
	call(t, session, "a")
	l.Close()
	if chain := verify(t, path, "<nil>"); chain.Last != 51 {
		t.Errorf("the chain is %+v", chain)
	}
}

// Another program takes the file away: lines are missing then, and none is said to be changed.
func TestTakenAway(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opts := audit.Options{Path: path, MaxBytes: 2000, Files: 1}
	write(t, opts, 5)
	write(t, opts, 5)
	l, session := begin(t, opts)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Skip("the system does not move an open file")
	}
	call(t, session, "a")
	l.Close()
	verify(t, path, "lines are missing, or were added")
}

// A file that was cut is found after the bridge has gone on with it, too.
func TestCutBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	write(t, audit.Options{Path: path}, 3)
	whole := text(t, path)
	write(t, audit.Options{Path: path}, 2)
	if err := os.WriteFile(path, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	verify(t, path, "lines 4 to 5 are missing at its end")
	write(t, audit.Options{Path: path}, 1)
	verify(t, path, path+":4: line 6 follows line 3: lines are missing")
}

// The files are rotated while they are read: no line is left out.
func TestReadRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	opts := audit.Options{Path: path, MaxBytes: 10, Files: 3}
	for range 3 {
		write(t, opts, 1)
	}
	var read []int64
	err := audit.Read(t.Context(), path, func(_ []byte, l *audit.Line) {
		if len(read) == 0 {
			write(t, opts, 1)
		}
		read = append(read, l.N)
	})
	if err != nil || !slices.Equal(read, []int64{1, 2, 3}) {
		t.Errorf("read %v, %v", read, err)
	}
}

func BenchmarkCall(b *testing.B) {
	for _, with := range []bool{false, true} {
		b.Run(fmt.Sprintf("audit=%t", with), func(b *testing.B) {
			var stream observe.Stream
			if with {
				l, err := audit.Open(&stream, audit.Options{Path: filepath.Join(b.TempDir(), "audit.jsonl")})
				if err != nil {
					b.Fatal(err)
				}
				defer l.Close()
			}
			session, _ := stream.Wrap(source{}, nil).Open(b.Context(), &bridge.Caller{})
			b.ReportAllocs()
			for b.Loop() {
				call(b, session, "pay")
			}
		})
	}
}
