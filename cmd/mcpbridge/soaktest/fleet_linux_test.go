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
	"slices"
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
// MCPBRIDGE_FLEET_SOAK=DURATION,SESSIONS,CALLS A SECOND,TIME FROM KILL TO KILL, such as 30m,1000,2000,5s. With join
// behind that, NATS is in the nodes.
type fleetPlan struct {
	lasts    time.Duration
	sessions int
	rate     int
	every    time.Duration
	join     bool
}

func planned(t *testing.T) fleetPlan {
	p := fleetPlan{lasts: 20 * time.Second, sessions: 100, rate: 100, every: 2 * time.Second}
	text := os.Getenv("MCPBRIDGE_FLEET_SOAK")
	if text == "" {
		return p
	}
	var lasts, every, nats string
	n, _ := fmt.Sscan(strings.ReplaceAll(text, ",", " "), &lasts, &p.sessions, &p.rate, &every, &nats)
	var errs [2]error
	p.lasts, errs[0] = time.ParseDuration(lasts)
	p.every, errs[1] = time.ParseDuration(every)
	if p.join = nats == "join"; errors.Join(errs[:]...) != nil || n == 5 && !p.join {
		t.Fatalf("MCPBRIDGE_FLEET_SOAK is %q, not like 30m,1000,2000,5s", text)
	}
	return p
}

// Nodes of a fleet are killed one after the other, some are stopped for longer than their claims last and wake. Every
// call is answered by what it asked for, none runs twice, and only one that was under way at a node that was killed or
// stopped is unknown.
func TestFleetUnderKills(t *testing.T) {
	if os.Getenv("MCPBRIDGE_LONG") == "" {
		t.Skip("set MCPBRIDGE_LONG=1 to run it")
	}
	plan := planned(t)
	up := &counted{runs: make([]atomic.Uint32, plan.rate*int(plan.lasts/time.Second+60))}
	upstream := httptest.NewServer(up)
	t.Cleanup(upstream.Close)
	f := newFleet(t, upstream.URL, plan.join)
	load := &fleetLoad{fleet: f, runs: up.runs, waits: map[string][]time.Duration{}}
	load.web.Transport = &http.Transport{MaxIdleConnsPerHost: 200}
	ctx, stop := context.WithTimeout(t.Context(), plan.lasts)
	defer stop()
	begun := time.Now()
	var work sync.WaitGroup
	work.Go(func() { f.trouble(ctx, t, plan.every) })
	due := make(chan struct{}, plan.rate) // a second's calls at most wait for a free session
	work.Go(func() { pace(ctx, plan.rate, due) })
	for range plan.sessions {
		work.Go(func() { load.session(t.Context(), due) })
	}
	work.Wait()
	load.judge(t, time.Since(begun))
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
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&message) != nil {
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
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

// What happens to a node.
const (
	restarted = "killed and started again at once"
	away      = "killed and started again later"
	stopped   = "stopped for longer than its claim to its sessions lasts"
)

// outage is when calls to a node may be lost: until all have noticed that it ended, or that it woke.
type outage struct {
	kind       string
	begun, end time.Time
}

// underFleet are nodes of a cluster, each a process that can be killed and started again at its address.
type underFleet struct {
	stage  *stage
	nodes  []string // the address of each
	homes  []string
	served [3]*served
	sick   atomic.Int32 // to which node the balancer sends nothing; -1 for none
	last   atomic.Pointer[outage]
	many   map[string]int // how many outages of each kind there were
}

// newFleet starts three nodes in front of a server, and a NATS unless it is in them.
func newFleet(t *testing.T, upstream string, join bool) *underFleet {
	f := &underFleet{stage: newStage(t, build()), many: map[string]int{}}
	f.sick.Store(-1)
	f.last.Store(&outage{kind: "started"})
	// Addresses of the test's own: no connection of another program has their ports.
	prefix := fmt.Sprintf("127.%d.%d.", 1+os.Getpid()>>8%250, os.Getpid()%250)
	nats := fmt.Sprintf(`"join": ["%[1]s1:6222", "%[1]s2:6222", "%[1]s3:6222"], "store": "${HOME}/nats"`, prefix)
	if !join {
		nats = fmt.Sprintf(`"nats": %q`, fleettest.NATS(t))
	}
	text := fmt.Appendf(nil, `{"cluster": {"name": "soak", "node": "${NODE}", "secrets": [%q], %s}, "mcpServers": {"up": {"url": %q, "sharing": "shared"}}}`,
		fleettest.Secret, nats, upstream)
	if err := os.WriteFile(f.stage.config("fleet"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range f.served {
		f.nodes = append(f.nodes, prefix+strconv.Itoa(i+1)+":7332")
		f.homes = append(f.homes, t.TempDir())
		f.start(t, i)
	}
	for i := range f.nodes {
		eventually(t, func() bool { return f.ready(i) }, func() string { return f.nodes[i] + " does not become ready" })
	}
	return f
}

func (f *underFleet) ready(i int) bool {
	resp, err := http.Get("http://" + f.nodes[i] + "/readyz")
	if err == nil {
		resp.Body.Close()
	}
	return err == nil && resp.StatusCode == http.StatusOK
}

// start starts a node that does not run.
func (f *underFleet) start(t *testing.T, i int) {
	b, err := f.stage.serveAt(context.WithoutCancel(t.Context()), f.nodes[i], "fleet", "NODE=n"+strconv.Itoa(i), "HOME="+f.homes[i], "XDG_RUNTIME_DIR="+f.homes[i])
	if err != nil {
		t.Error(err)
		return
	}
	f.served[i] = b
}

// trouble kills or stops a node each time until ctx ends. In the end all run.
func (f *underFleet) trouble(ctx context.Context, t *testing.T, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for round := 1; ; round++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		i, kind := rand.N(len(f.nodes)), []string{restarted, away}[round%2]
		if round%10 == 3 {
			kind = stopped
		}
		node, o := f.served[i], outage{kind, time.Now(), time.Now().Add(patience)}
		f.many[kind]++
		f.last.Store(&o)
		if kind == stopped {
			node.cmd.Process.Signal(syscall.SIGSTOP)
			wait(ctx, time.Second)
			f.sick.Store(int32(i))
			wait(ctx, 15*time.Second)
			node.cmd.Process.Signal(syscall.SIGCONT)
		} else {
			node.cmd.Process.Kill()
			<-node.ended
			node.cmd.Wait()
			f.sick.Store(int32(i))
		}
		f.last.Store(&outage{kind, o.begun, time.Now().Add(time.Second)})
		if kind == away {
			wait(ctx, every*3/4)
		}
		if kind != stopped {
			f.start(t, i)
		}
		for !f.ready(i) && time.Since(o.begun) < patience {
			wait(t.Context(), 10*time.Millisecond)
		}
		f.sick.Store(-1)
	}
}

// wait waits for some time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// slow is what a call takes while nothing happens, at most.
const slow = 100 * time.Millisecond

// fleetLoad calls the nodes in turn, with numbers that no other call has.
type fleetLoad struct {
	fleet *underFleet
	runs  []atomic.Uint32 // by number, how often it ran at the server
	web   http.Client
	last  atomic.Int64 // the last number
	turn  atomic.Int64
	right atomic.Int64 // calls that were answered
	later atomic.Int64 // answers that say to try again
	anew  atomic.Int64 // sessions that were told to begin anew

	mu      sync.Mutex
	waits   map[string][]time.Duration // of calls that were slow, by what happened last, until their ends were known
	unknown []int                      // numbers of calls that were under way
	wrong   []string
}

func (l *fleetLoad) fault(n int, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong = append(l.wrong, fmt.Sprintf("%d: %s", n, what))
}

// session makes calls that are due, one after the other. One that is refused it makes again when it is told to.
func (l *fleetLoad) session(ctx context.Context, due <-chan struct{}) {
	id := ""
	for range due {
		n, begun := int(l.last.Add(1)), time.Now()
		var by atomic.Pointer[outage]
		late := time.AfterFunc(slow, func() { by.Store(l.fleet.last.Load()) })
		for again := l.call(&id, n); again > 0; again = l.call(&id, n) {
			if time.Since(begun) > patience {
				l.fault(n, "no answer for a minute")
				return
			}
			wait(ctx, again)
		}
		late.Stop()
		if o := by.Load(); o != nil {
			l.mu.Lock()
			l.waits[o.kind] = append(l.waits[o.kind], time.Since(begun))
			l.mu.Unlock()
		}
	}
}

// call makes a call in a session, which it begins if there is none. again is when to try again: 0 if its end is known, or
// unknown for good.
func (l *fleetLoad) call(id *string, n int) (again time.Duration) {
	const soon = 10 * time.Millisecond
	if *id == "" {
		_, header, _, err := l.post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"soak","version":"1"}}}`)
		if err != nil || header.Get("Mcp-Session-Id") == "" {
			return soon
		}
		*id = header.Get("Mcp-Session-Id")
	}
	sent := time.Now()
	status, header, body, err := l.post(*id, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count","arguments":{"n":%d}}}`, n, n))
	switch {
	case errors.Is(err, errNoNode):
		return soon
	case err != nil, status == http.StatusOK && strings.Contains(body, "unknown whether it ran"):
		if last := l.fleet.last.Load(); sent.After(last.end) {
			l.fault(n, fmt.Sprintf("unknown though sent %v after a node was %s: %v %s", sent.Sub(last.begun), last.kind, err, body))
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		l.unknown = append(l.unknown, n)
	case status == http.StatusServiceUnavailable:
		l.later.Add(1)
		seconds, err := strconv.Atoi(header.Get("Retry-After"))
		if err != nil || seconds < 1 {
			l.fault(n, "503 without Retry-After")
		}
		return time.Duration(seconds) * time.Second
	case status == http.StatusNotFound:
		l.anew.Add(1)
		*id = ""
		return soon
	case status == http.StatusOK && strings.Contains(body, fmt.Sprintf(`"ran %d"`, n)) && strings.Contains(body, fmt.Sprintf(`"id":%d,`, n)):
		l.right.Add(1)
	default:
		l.fault(n, fmt.Sprintf("%d %s", status, body))
	}
	return 0
}

var errNoNode = errors.New("no node listens")

// post sends a message to the next node to which it can connect, as a balancer does.
func (l *fleetLoad) post(session, message string) (status int, header http.Header, body string, err error) {
	turn := int(l.turn.Add(1))
	for i := range l.fleet.nodes {
		node := (turn + i) % len(l.fleet.nodes)
		if node == int(l.fleet.sick.Load()) {
			continue
		}
		req, _ := http.NewRequest(http.MethodPost, "http://"+l.fleet.nodes[node]+"/mcp", strings.NewReader(message))
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
	return 0, nil, "", errNoNode
}

// judge tells what came of the load, and compares it with what ran.
func (l *fleetLoad) judge(t *testing.T, lasted time.Duration) {
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
	t.Logf("%d calls in %v, %.0f/s: %d answered, %d unknown; %d ran; %d times a call was to be tried again, %d sessions were told to begin anew", l.last.Load(),
		lasted, float64(l.last.Load())/lasted.Seconds(), l.right.Load(), len(l.unknown), ran, l.later.Load(), l.anew.Load())
	for kind, waits := range l.waits {
		slices.Sort(waits)
		second, _ := slices.BinarySearch(waits, time.Second)
		t.Logf("%d times a node was %s: %d calls took longer than %v, %d longer than 1s; %v at the median, 99%% within %v, all within %v",
			l.fleet.many[kind], kind, len(waits), slow, len(waits)-second, waits[len(waits)/2], waits[len(waits)*99/100], waits[len(waits)-1])
	}
	if len(l.wrong) > 0 {
		t.Errorf("%d wrong: %.2000q", len(l.wrong), l.wrong)
	}
}
