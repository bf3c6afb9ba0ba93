// Package soaktest connects, calls and kills many times in each possible way, and looks for what
// is left: processes, descriptors, threads, memory, goroutines.
package soaktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// variant is one way for a connection to end: run connects, calls and kills once. Successive
// cycles differ.
type variant struct {
	name   string
	cycles int // without MCPBRIDGE_LONG a tenth
	run    func(ctx context.Context, s *stage, n int) error
}

// atOnce is the number of cycles that run in parallel.
const atOnce = 10

// repeat runs the cycles of a variant, and after each batch of them the function after.
func (v variant) repeat(t *testing.T, s *stage, after func()) {
	t.Helper()
	cycles := v.cycles
	if os.Getenv("MCPBRIDGE_LONG") == "" {
		cycles /= 10
		t.Logf("MCPBRIDGE_LONG is not set: %d cycles of %d", cycles, v.cycles)
	}
	for n := 0; n < cycles && !t.Failed(); n += atOnce {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		var wg sync.WaitGroup
		for i := n; i < min(n+atOnce, cycles); i++ {
			wg.Go(func() {
				if err := v.run(ctx, s, i); err != nil {
					t.Errorf("%s, cycle %d: %v", v.name, i, err)
				}
			})
		}
		wg.Wait()
		cancel()
		after()
	}
}

// endings are the variants in which a client or the bridge ends, well or badly. Together with
// those of TestServeDoesNotGrow they have 200 cycles.
var endings = []variant{
	{"client of stdio killed", 40, clientKilled},
	{"stdio killed", 40, stdioKilled},
	{"serve killed", 20, serveKilled},
	{"stdio ends", 20, stdioEnds},
	{"serve ends", 20, serveEnds},
}

func TestNothingIsLeft(t *testing.T) {
	program := build()
	for _, v := range endings {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel() // it mostly waits
			s := newStage(t, program)
			v.repeat(t, s, func() { s.mustBeEmpty(t) })
		})
	}
}

func clientKilled(ctx context.Context, s *stage, n int) error {
	return s.killedClient(ctx, "stdio", s.stdio(n)...)
}

// killedClient runs a client in a process and kills it after its call.
func (s *stage) killedClient(ctx context.Context, kind string, target ...string) error {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, os.Args[0], append([]string{kind}, target...)...)
	cmd.Env = append(os.Environ(), childMode+"=client", mark+"="+s.id)
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_, err = out.Read(make([]byte, 10)) // it says that it is ready
	cmd.Process.Kill()
	cmd.Wait()
	if err != nil {
		return fmt.Errorf("the client ended: %s", &stderr)
	}
	return nil
}

func stdioKilled(ctx context.Context, s *stage, n int) error {
	p, err := connected(ctx, n, "stdio", s.stdio(n)...)
	if err != nil {
		return err
	}
	p.process.Kill()
	p.End()
	return nil
}

func stdioEnds(ctx context.Context, s *stage, n int) error {
	p, err := connected(ctx, n, "stdio", s.stdio(n)...)
	if err != nil {
		return err
	}
	return p.End()
}

func serveKilled(ctx context.Context, s *stage, n int) error {
	return s.endServe(ctx, n, syscall.SIGKILL)
}

func serveEnds(ctx context.Context, s *stage, n int) error {
	return s.endServe(ctx, n, syscall.SIGTERM)
}

// endServe signals a bridge that has a client, and waits for its end.
func (s *stage) endServe(ctx context.Context, n int, signal syscall.Signal) error {
	b, err := s.serve(ctx, mode(n))
	if err != nil {
		return err
	}
	p, err := connected(ctx, n, remote(n), b.url)
	if err != nil {
		b.end(syscall.SIGKILL)
		return err
	}
	err = b.end(signal)
	p.End()
	if signal == syscall.SIGKILL {
		return nil
	}
	return err
}

// connected returns a client that has made a call; every second one has another call under way.
func connected(ctx context.Context, n int, kind string, target ...string) (*caller, error) {
	p, err := dial(ctx, kind, target)
	if err != nil {
		return nil, err
	}
	if _, err = p.pid(ctx); err == nil && n%2 == 1 && kind != "http" {
		err = p.begin("tools/call", object{"name": "block"})
	}
	if err != nil {
		p.End()
		return nil, err
	}
	return p, nil
}

// mode returns the mode of the server of the n-th cycle.
func mode(n int) string {
	switch {
	case n%10 == 5:
		return "stubborn"
	case n%3 == 0:
		return "polite"
	}
	return "deaf"
}

// remote returns the carrier of the n-th cycle.
func remote(n int) string { return []string{"ws", "sse", "http"}[n%3] }

// lasting are the variants in which one bridge serves all cycles.
var lasting = []variant{
	{"server killed", 40, serverKilled},
	{"client of serve killed", 20, remoteKilled},
}

// The slack is how much more than before a process may hold: the Go runtime keeps threads and
// memory for later. A leak in each of the cycles would exceed it.
const (
	slackThreads   = 8
	slackKilobytes = 16 << 10
)

func TestServeDoesNotGrow(t *testing.T) {
	s := newStage(t, build())
	b, err := s.serve(context.Background(), "deaf") // beyond the end of t.Context: it is asked to end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.end(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		s.mustBeEmpty(t)
	})
	s.lasting = b
	pid := b.cmd.Process.Pid
	// Threads and pools of the first cycles stay.
	for _, v := range lasting {
		variant{v.name, atOnce, v.run}.repeat(t, s, func() {})
	}
	before := settled(t, pid)
	u := before
	for _, v := range lasting {
		v.repeat(t, s, func() {
			u = settled(t, pid)
			if u.descriptors > before.descriptors || u.threads > before.threads+slackThreads || u.kilobytes > before.kilobytes+slackKilobytes {
				t.Errorf("%s: it held %+v and now holds %+v", v.name, before, u)
			}
		})
	}
	t.Logf("before: %+v, after: %+v", before, u)
}

// settled waits until the bridge is idle and returns what it holds: its children are the
// supervisor and the server of its own session, and its descriptors have not changed for a while.
func settled(t *testing.T, pid int) (u usage) {
	t.Helper()
	same := 0
	eventually(t,
		func() bool {
			now := usageOf(pid)
			if same++; now.children != 2 || now.descriptors != u.descriptors {
				same = 0
			}
			u = now
			return same >= 50
		},
		func() string { return fmt.Sprintf("children stay: %+v", u) })
	return u
}

// serverKilled kills the server of a client, whose next call must work.
func serverKilled(ctx context.Context, s *stage, n int) error {
	p, err := dial(ctx, remote(n), []string{s.lasting.url})
	if err != nil {
		return err
	}
	return errors.Join(killServer(ctx, p), p.End())
}

func killServer(ctx context.Context, p *caller) error {
	first, err := p.pid(ctx)
	if err != nil {
		return err
	}
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil {
		return err
	}
	second, err := p.pid(ctx)
	if err != nil {
		return fmt.Errorf("after its server was killed: %w", err)
	}
	if first == second {
		return fmt.Errorf("process %d answers, which was killed", first)
	}
	return nil
}

func remoteKilled(ctx context.Context, s *stage, n int) error {
	return s.killedClient(ctx, remote(n), s.lasting.url)
}

// TestGoroutinesEnd runs the bridge in this process, where its goroutines can be counted.
func TestGoroutinesEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	supervisor := process.NewSupervisor()
	client := mcpclient.New(mcpclient.Config{
		Name: "soak", Command: []string{os.Args[0]}, Env: map[string]string{childMode: "polite"},
		Sharing: mcpclient.Session, Supervisor: supervisor,
	})
	front := mcpserver.New(bridge.New(bridge.Options{}, bridge.Member{Name: "soak", Source: client}), mcpserver.Options{})
	web := httptest.NewServer(front.Handler())
	idle := runtime.NumGoroutine() + 1 // the one that waits for the supervisor comes with the first child

	variant{"server killed", 100, func(ctx context.Context, _ *stage, n int) error {
		p, err := dial(ctx, remote(n), []string{web.URL})
		if err != nil {
			return err
		}
		if n%2 == 0 {
			return errors.Join(killServer(ctx, p), p.End())
		}
		_, err = p.pid(ctx)
		return errors.Join(err, p.End())
	}}.repeat(t, nil, func() { mustHaveGoroutines(t, idle) })

	front.Close()
	web.Close()
	client.Close()
	supervisor.Close()
	mustHaveGoroutines(t, before)
}

// mustHaveGoroutines waits until there are at most so many goroutines.
func mustHaveGoroutines(t *testing.T, most int) {
	t.Helper()
	eventually(t,
		func() bool { return runtime.NumGoroutine() <= most },
		func() string {
			var stacks strings.Builder
			pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			return fmt.Sprintf("%d goroutines, not %d:\n%s", runtime.NumGoroutine(), most, &stacks)
		})
}
