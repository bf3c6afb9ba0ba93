package soaktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
)

// fleetPlan is what TestFleetUnderKills does. For another one set it in the environment as
// MCPBRIDGE_FLEET_SOAK=DURATION,SESSIONS,CALLS A SECOND,TIME FROM KILL TO KILL, such as 30m,1000,2000,5s.
type fleetPlan struct {
	lasts    time.Duration
	sessions int
	rate     int
	every    time.Duration
}

func planned(t *testing.T) fleetPlan {
	p := fleetPlan{20 * time.Second, 100, 300, 2 * time.Second}
	text := os.Getenv("MCPBRIDGE_FLEET_SOAK")
	if text == "" {
		return p
	}
	words := strings.Split(text, ",")
	if len(words) != 4 {
		t.Fatalf("MCPBRIDGE_FLEET_SOAK is %q, not like 30m,1000,2000,5s", text)
	}
	var errs [4]error
	p.lasts, errs[0] = time.ParseDuration(words[0])
	p.sessions, errs[1] = strconv.Atoi(words[1])
	p.rate, errs[2] = strconv.Atoi(words[2])
	p.every, errs[3] = time.ParseDuration(words[3])
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return p
}

// Nodes of a fleet are killed one after the other, some are stopped for longer than their leases and wake. Every call is
// answered by what it asked for, none runs twice, and only one that was under way at a node that was killed is unknown.
func TestFleetUnderKills(t *testing.T) {
	if os.Getenv("MCPBRIDGE_LONG") == "" {
		t.Skip("set MCPBRIDGE_LONG=1 to run it")
	}
	plan := planned(t)
	up := &counted{runs: make([]atomic.Uint32, plan.rate*int(plan.lasts/time.Second+60))}
	upstream := httptest.NewServer(up)
	t.Cleanup(upstream.Close)
	f := newFleet(t, upstream.URL)
	load := &fleetLoad{fleet: f, runs: up.runs}
	load.web.Transport = &http.Transport{MaxIdleConnsPerHost: 50}
	ctx, stop := context.WithTimeout(t.Context(), plan.lasts)
	defer stop()
	var work sync.WaitGroup
	work.Go(func() { f.killing(ctx, t, plan.every) })
	due := make(chan struct{}, plan.rate) // a second's calls at most wait for a free session
	work.Go(func() { pace(ctx, plan.rate, due) })
	const workers = 50
	for range workers {
		work.Go(func() { load.work(plan.sessions/workers, due) })
	}
	work.Wait()
	load.judge(t)
}

// pace sends what is due at a rate a second until ctx ends, and closes due.
func pace(ctx context.Context, rate int, due chan<- struct{}) {
	defer close(due)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	begun, sent := time.Now(), 0
	for ctx.Err() == nil {
		for want := int(time.Since(begun).Seconds() * float64(rate)); sent < want; sent++ {
			select {
			case due <- struct{}{}:
			default: // the sessions are behind
			}
		}
		<-tick.C
	}
}

// counted is an MCP server whose tool counts how often it has run with each number, which it returns.
type counted struct{ runs []atomic.Uint32 }

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var message struct {
		ID     json.RawMessage
		Method string
		Params struct {
			Arguments       struct{ N int }
			ProtocolVersion string
		}
	}
	if r.Method != http.MethodPost {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	result := `{}`
	switch message.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"counted","version":"1"}}`
	case "tools/list":
		result = `{"tools":[{"name":"count","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}`
	case "tools/call":
		n := message.Params.Arguments.N
		c.runs[n].Add(1)
		result = fmt.Sprintf(`{"content":[{"type":"text","text":"ran %d"}]}`, n)
	case "server/discover":
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, message.ID)
		return
	}
	if len(message.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, message.ID, result)
}

// underFleet are nodes of a cluster, each a process that can be killed and started again at its address.
type underFleet struct {
	stage  *stage
	nodes  []string // the address of each
	served [3]*served
	kills  int
	stops  int
}

// newFleet starts three nodes in front of a server, and a NATS.
func newFleet(t *testing.T, upstream string) *underFleet {
	f := &underFleet{stage: newStage(t, build())}
	text, err := json.Marshal(object{
		"cluster":    object{"name": "soak", "node": "${NODE}", "secrets": []string{fleettest.Secret}, "nats": fleettest.NATS(t)},
		"mcpServers": object{"up": object{"url": upstream, "sharing": "shared"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.stage.config("fleet"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	// Addresses of the test's own: no connection of another program has their ports.
	prefix := fmt.Sprintf("127.%d.%d.", 1+os.Getpid()>>8%250, os.Getpid()%250)
	for i := range 3 {
		f.nodes = append(f.nodes, prefix+strconv.Itoa(i+1)+":7332")
		f.start(t, i)
	}
	for i := range f.nodes {
		eventually(t, func() bool { return f.ready(i) }, func() string { return f.nodes[i] + " does not become ready" })
	}
	return f
}

func (f *underFleet) ready(i int) bool {
	resp, err := http.Get("http://" + f.nodes[i] + "/readyz")
	if err != nil {
		return false
	}
	resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// start starts a node that does not run.
func (f *underFleet) start(t *testing.T, i int) {
	home := filepath.Join(f.stage.dir, "home"+strconv.Itoa(i))
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Error(err)
		return
	}
	b, err := f.stage.serveAt(context.WithoutCancel(t.Context()), f.nodes[i], "fleet", "NODE=n"+strconv.Itoa(i), "HOME="+home, "XDG_RUNTIME_DIR="+home)
	if err != nil {
		t.Error(err)
		return
	}
	f.served[i] = b
}

// killing takes a node away each time until ctx ends, after it has started the one before it again: it kills them, but
// stops each fourth for longer than what it holds lasts, and wakes it. In the end all run.
func (f *underFleet) killing(ctx context.Context, t *testing.T, every time.Duration) {
	down := -1
	start := func() {
		if down >= 0 {
			f.start(t, down)
		}
		down = -1
	}
	defer start()
	for round := 1; wait(ctx, every); round++ {
		last := down
		start()
		victim := rand.N(len(f.nodes))
		if victim == last {
			victim = (victim + 1) % len(f.nodes)
		}
		process := f.served[victim].cmd.Process
		if round%4 == 0 {
			f.stops++
			process.Signal(syscall.SIGSTOP)
			wait(ctx, 15*time.Second)
			process.Signal(syscall.SIGCONT)
			continue
		}
		f.kills++
		process.Kill()
		<-f.served[victim].ended
		f.served[victim].cmd.Wait()
		down = victim
	}
}

// wait waits for some time, and says whether ctx has not ended before.
func wait(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// fleetLoad calls the nodes in turn, with numbers that no other call has.
type fleetLoad struct {
	fleet   *underFleet
	runs    []atomic.Uint32 // by number, how often it ran at the server
	web     http.Client
	last    atomic.Int64 // the last number
	turn    atomic.Int64
	right   atomic.Int64 // calls that were answered
	refused atomic.Int64 // answers that ask to try again
	ended   atomic.Int64 // sessions that were told to begin anew
	longest atomic.Int64 // ns until a call was answered, or its client was told that it is unknown whether it ran

	mu      sync.Mutex
	unknown []int // numbers of calls that were under way
	wrong   []string
}

// work calls in sessions of its own, in turn, until nothing is due.
func (l *fleetLoad) work(sessions int, due <-chan struct{}) {
	ids := make([]string, sessions)
	for i := 0; ; i = (i + 1) % sessions {
		if _, ok := <-due; !ok {
			return
		}
		begun, n := time.Now(), int(l.last.Add(1))
		for !l.call(&ids[i], n) {
			if time.Since(begun) > patience {
				l.fault(n, "no answer for a minute")
				break
			}
		}
		took := int64(time.Since(begun))
		for longest := l.longest.Load(); took > longest && !l.longest.CompareAndSwap(longest, took); longest = l.longest.Load() {
		}
	}
}

func (l *fleetLoad) fault(n int, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf("%d: %s", n, what))
}

// call makes a call in a session, which it begins if there is none, and says whether its end is known or unknown for good.
func (l *fleetLoad) call(id *string, n int) bool {
	if *id == "" {
		_, header, _, err := l.post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`)
		if err != nil {
			return false
		}
		*id = header.Get("Mcp-Session-Id")
		if *id == "" {
			return false
		}
	}
	status, _, body, err := l.post(*id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{"n":%d}}}`, n, n))
	switch {
	case err != nil, status == http.StatusOK && strings.Contains(body, "unknown whether it ran"):
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unknown = append(l.unknown, n)
	case status == http.StatusServiceUnavailable:
		l.refused.Add(1)
		return false
	case status == http.StatusNotFound:
		l.ended.Add(1)
		*id = ""
		return false
	case status == http.StatusOK && strings.Contains(body, fmt.Sprintf(`"ran %d"`, n)) && strings.Contains(body, fmt.Sprintf(`"id":%d,`, n)):
		l.right.Add(1)
	default:
		l.fault(n, fmt.Sprintf("%d %s", status, body))
	}
	return true
}

// post sends a message to the next node to which it can connect, as a balancer does.
func (l *fleetLoad) post(session, message string) (status int, header http.Header, body string, err error) {
	for {
		node := l.fleet.nodes[int(l.turn.Add(1))%len(l.fleet.nodes)]
		req, err := http.NewRequest(http.MethodPost, "http://"+node+"/mcp", strings.NewReader(message))
		if err != nil {
			return 0, nil, "", err
		}
		req.GetBody = nil // the client of net/http does not send it again
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := l.web.Do(req)
		if op := (*net.OpError)(nil); errors.As(err, &op) && op.Op == "dial" {
			continue
		}
		if err != nil {
			return 0, nil, "", err
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		return resp.StatusCode, resp.Header, string(raw), err
	}
}

// judge tells what came of the load, and compares it with what ran.
func (l *fleetLoad) judge(t *testing.T) {
	unknown := map[int]bool{}
	for _, n := range l.unknown {
		unknown[n] = true
	}
	ran := 0
	for n := 1; n <= int(l.last.Load()); n++ {
		runs := int(l.runs[n].Load())
		ran += runs
		if runs > 1 || runs == 0 && !unknown[n] {
			l.wrong = append(l.wrong, fmt.Sprintf("%d ran %d times", n, runs))
		}
	}
	t.Logf("%d calls, %d answered, %d unknown; %d ran; %d times told to try again, %d sessions to begin anew; the longest took %v; %d kills, %d stops",
		l.last.Load(), l.right.Load(), len(l.unknown), ran, l.refused.Load(), l.ended.Load(), time.Duration(l.longest.Load()), l.fleet.kills, l.fleet.stops)
	if len(l.wrong) > 0 {
		t.Errorf("%d wrong: %.2000q", len(l.wrong), l.wrong)
	}
}
