package soaktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// newDaemonStage returns a stage whose config has one server that windows share. The folders of its
// daemon are its own.
func newDaemonStage(t *testing.T) (s *stage, window []string) {
	t.Helper()
	s = newStage(t, build())
	config := filepath.Join(s.dir, "windows.json")
	s.writeWindows(t, config, true, object{})
	for _, name := range []string{"XDG_RUNTIME_DIR", "XDG_CACHE_HOME"} {
		folder := filepath.Join(s.dir, strings.ToLower(name[4:7]))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, folder)
	}
	return s, []string{s.program, "stdio", "--config", config}
}

// writeWindows writes the config of windows, whose server gets some more variables. Calls of one that is trusted
// are repeated when they are lost.
func (s *stage) writeWindows(t *testing.T, config string, trust bool, env object) {
	t.Helper()
	env[childMode], env[mark] = "polite", s.id
	text, err := json.Marshal(object{
		"mcpServers": object{"soak": object{"command": os.Args[0], "trust": trust, "env": env, "backoff": object{"min": "20ms", "max": "50ms"}}},
		"daemon":     object{"idleExit": "1s"},
	})
	if err == nil {
		err = os.WriteFile(config+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(config+".new", config)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// running returns the processes of a stage whose command line has some text.
func (s *stage) running(text string) (pids []int) {
	for pid, line := range processes(s.program, s.id) {
		if strings.Contains(line, text) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// long returns a number for a long run, and a part of it for a short one.
func long(n, part int) int {
	if os.Getenv("MCPBRIDGE_LONG") != "" {
		return n
	}
	return n / part
}

// healBound is the time after the last of some kills in which each window must have been answered again.
// It takes tens of milliseconds, and more on a machine that has much else to do; only a wait that nothing
// ends takes seconds.
const healBound = 8 * time.Second

// TestDaemonUnderKills kills windows, their daemon and the server in random order, while calls are under
// way: nothing is answered wrongly, each window is soon answered again, and nothing is left.
func TestDaemonUnderKills(t *testing.T) {
	s, window := newDaemonStage(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*patience)
	defer cancel()
	over := make(chan struct{})
	var working sync.WaitGroup
	var right, failed atomic.Int64
	var answered [5]atomic.Int64 // when the latest call of a window began that was answered, in nanoseconds
	began := time.Now()
	for i := range answered {
		working.Go(func() {
			for ctx.Err() == nil {
				c, err := dial(ctx, "stdio", window)
				if err != nil {
					continue // it was killed
				}
				for err == nil || strings.Contains(err.Error(), `"code":"unavailable"`) {
					select {
					case <-over:
						if _, err := c.pid(ctx); err != nil {
							t.Errorf("in the end: %v", err)
						}
						c.End()
						return
					default:
					}
					asked := time.Since(began)
					if _, err = c.pid(ctx); err == nil {
						right.Add(1)
						answered[i].Store(int64(asked))
					} else if failed.Add(1); errors.Is(err, strconv.ErrSyntax) || strings.Contains(err.Error(), "the result is") {
						t.Errorf("a wrong answer: %v", err)
					}
				}
				c.process.Kill()
				c.End()
			}
		})
	}
	kills := 0
	var healed []time.Duration
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for most := long(500, 10); kills < most; {
		for range 1 + rand.IntN(3) { // some before the others have been noticed
			for range rand.IntN(100) {
				<-tick.C
			}
			what := []string{" stdio ", " daemon ", os.Args[0]}[rand.IntN(3)]
			if pids := s.running(what); len(pids) > 0 && syscall.Kill(pids[rand.IntN(len(pids))], syscall.SIGKILL) == nil {
				kills++
			}
		}
		killed := time.Since(began)
		for i := range answered {
			for answered[i].Load() <= int64(killed) && time.Since(began)-killed < healBound {
				<-tick.C
			}
		}
		healed = append(healed, time.Since(began)-killed)
	}
	slices.Sort(healed)
	if most := healed[len(healed)-1]; most >= healBound {
		t.Errorf("a window has not been answered again for %s", most)
	}
	close(over)
	working.Wait()
	t.Logf("%d kills, %d right answers, %d failed calls; healed after %s (median), %s (99%%), %s (at most)",
		kills, right.Load(), failed.Load(), healed[len(healed)/2], healed[len(healed)*99/100], healed[len(healed)-1])
	s.mustBeEmpty(t)
}

// TestOneDaemon starts many windows at once, again and again: they always share one server.
func TestOneDaemon(t *testing.T) {
	s, window := newDaemonStage(t)
	for range long(100, 50) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		for _, pid := range s.running(" daemon ") {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		var mu sync.Mutex
		servers := map[int]bool{}
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				c, err := dial(ctx, "stdio", window)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.End()
				pid, err := c.pid(ctx)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				servers[pid] = true
			})
		}
		all.Wait()
		cancel()
		if len(servers) != 1 || t.Failed() {
			t.Fatalf("servers %v", servers)
		}
	}
	s.mustBeEmpty(t)
}

// TestWindowsPart holds that windows have servers of their own as soon as the config refers to what tells them
// apart, and share one again when it no longer does, and that no call of theirs fails meanwhile.
func TestWindowsPart(t *testing.T) {
	s, window := newDaemonStage(t)
	config := window[len(window)-1]
	s.writeWindows(t, config, false, object{})
	ctx, cancel := context.WithTimeout(t.Context(), 4*patience)
	defer cancel()
	var pids [3]atomic.Int64 // of the server that answered a window last
	over := make(chan struct{})
	var working sync.WaitGroup
	for i, value := range []string{"a", "b", "a"} {
		t.Setenv("SOAK_WINDOW", value)
		c, err := dial(ctx, "stdio", window)
		if err != nil {
			t.Fatal(err)
		}
		working.Go(func() {
			defer c.End()
			for {
				select {
				case <-over:
					return
				default:
				}
				pid, err := c.pid(ctx)
				if err != nil {
					t.Errorf("window %d: %v", i, err)
					return
				}
				pids[i].Store(int64(pid))
			}
		})
	}
	for range long(20, 5) {
		for _, apart := range []bool{true, false} {
			env := object{}
			if apart {
				env["WINDOW"] = "${SOAK_WINDOW}"
			}
			s.writeWindows(t, config, false, env)
			eventually(t, func() bool {
				a, b, c := pids[0].Load(), pids[1].Load(), pids[2].Load()
				return t.Failed() || a == c && a != 0 && (a != b) == apart
			}, func() string {
				return fmt.Sprintf("apart: %t, servers: %d %d %d", apart, pids[0].Load(), pids[1].Load(), pids[2].Load())
			})
		}
	}
	close(over)
	working.Wait()
	s.mustBeEmpty(t)
}

// TestTwoUsers holds that users with one config have a daemon each, and cannot reach that of the other.
func TestTwoUsers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be two users")
	}
	s, window := newDaemonStage(t)
	for folder := s.dir; folder != "/"; folder = filepath.Dir(folder) { // which others must be able to enter
		if info, err := os.Stat(folder); err == nil && info.Mode().Perm()&0o005 != 0o005 {
			if err := os.Chmod(folder, info.Mode().Perm()|0o055); err != nil {
				t.Skip(err)
			}
		}
	}
	binary := filepath.Join(s.dir, "server")
	copied, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	config := window[len(window)-1]
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{binary: copied, config: []byte(strings.Replace(string(text), os.Args[0], binary, 1))} {
		if err := os.WriteFile(name, data, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("XDG_RUNTIME_DIR", "")
	ask := func(uid uint32, args ...string) (string, error) {
		cmd := exec.Command(s.program, args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		cmd.Env = append(os.Environ(), childMode+"=", mark+"="+s.id, "HOME=/", "XDG_CACHE_HOME=/tmp")
		cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"pid"}}
`)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const ann, bob = 64_101, 64_102
	folders := map[uint32]string{ann: "/tmp/mcpbridge-64101", bob: "/tmp/mcpbridge-64102"}
	for _, folder := range folders {
		os.RemoveAll(folder)
		t.Cleanup(func() { os.RemoveAll(folder) })
	}
	seen := map[string]bool{}
	for uid, folder := range folders {
		out, err := ask(uid, "stdio", "--config", config)
		if err != nil || !strings.Contains(out, `"id":2,"result":`) {
			t.Fatalf("user %d: %v: %s", uid, err, out)
		}
		_, answer, _ := strings.Cut(out, `"id":2,"result":`)
		seen[answer] = true
		if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", folder, info, err)
		}
	}
	if len(seen) != 2 || len(s.running(" daemon ")) != 2 {
		t.Errorf("two users have %d servers and %d daemons", len(seen), len(s.running(" daemon ")))
	}
	// A folder that another user has made in advance is not used.
	os.RemoveAll(folders[bob])
	if err := os.Mkdir(folders[bob], 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(folders[bob], ann, ann); err != nil {
		t.Fatal(err)
	}
	out, err := ask(bob, "stdio", "--config", config)
	if !strings.Contains(out, "mcpbridge: the servers are not shared with other windows: "+folders[bob]+" belongs to another user") || !strings.Contains(out, `"id":2,"result":`) {
		t.Errorf("a folder of another user: %v: %s", err, out)
	}
	s.mustBeEmpty(t)
}
