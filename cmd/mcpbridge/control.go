package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/observe"
	"github.com/mcpbridge/mcpbridge/bridge/policy"
	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/bridge/rates"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/daemon"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/internal/logbook"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/stack"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpclient/oauth"
)

// A control carries out the commands of the user that are about a program that runs: a daemon or serve.
type control struct {
	about   processState // the part of it that does not change
	book    *logbook.Book
	counts  *observe.Counts
	desk    *policy.Desk // of the calls that wait for a person
	stacks  func() []*stack.Stack
	quotas  func() []rates.Quota
	end     func(why string)                                                      // ends the program
	refuse  func() int64                                                          // how often it has refused; nil for a daemon
	reload  func() error                                                          // reads the config anew; nil without one
	open    func() string                                                         // returns an address of the console, good for one browser; nil without a console
	cluster *cluster                                                              // nil unless the program is a node
	askNode func(ctx context.Context, run, path string) ([]byte, error)           // asks another node
	drain   func(ctx context.Context, settle, within time.Duration) (running int) // nil for a daemon
}

// processState is a program that runs, as ps --json prints it.
type processState struct {
	Kind    string        `json:"kind"` // daemon or serve
	Config  string        `json:"config,omitempty"`
	Listen  string        `json:"listen,omitempty"`
	TLS     bool          `json:"tls,omitempty"`
	Version string        `json:"version"`
	PID     int           `json:"pid"`
	Since   time.Time     `json:"since"`
	Memory  int64         `json:"memory,omitempty"` // resident bytes, without those of its servers; 0 where that is unknown
	Callers int           `json:"callers"`          // sessions
	Calls   int           `json:"calls"`            // since it began
	Failed  int           `json:"failed"`
	Refused int64         `json:"refused,omitempty"` // requests that were not let in, or by a limit
	Stopped string        `json:"stopped,omitempty"` // why all calls are; "" if they are not
	Held    bool          `json:"held,omitempty"`    // so they are, as it is not known whether they may run
	Servers []serverState `json:"servers"`
	Quotas  []rates.Quota `json:"quotas,omitempty"` // of daily rates, the fullest first

	Cluster string `json:"cluster,omitempty"` // that it is a node of
	Node    string `json:"node,omitempty"`    // its name there
	Away    string `json:"away,omitempty"`    // why another node has told nothing

	Other bool `json:"other_config,omitempty"` // that node has another config than the one that says so
}

// serverState is a server, or one of its processes if each caller has its own.
type serverState struct {
	Name     string    `json:"name"`
	State    string    `json:"state"`
	Since    time.Time `json:"since,omitzero"` // of the state
	PID      int       `json:"pid,omitempty"`
	Memory   int64     `json:"memory,omitempty"` // resident bytes of its processes
	Callers  int       `json:"callers"`          // sessions
	Calls    int       `json:"calls"`            // of the server, since the program began
	Failed   int       `json:"failed"`
	LastCall time.Time `json:"last_call,omitzero"`
	Server   string    `json:"server,omitempty"` // name and version, by its own account
	Revision string    `json:"revision,omitempty"`
	Tools    int       `json:"tools"`
	Held     int       `json:"held,omitempty"`     // tools and prompts that are held back
	Findings int       `json:"findings,omitempty"` // what definitions should not say, of a server with "pin"
	Reason   string    `json:"reason,omitempty"`   // why it is down
	Line     string    `json:"line,omitempty"`     // the last one on its standard error
	Sandbox  string    `json:"sandbox,omitempty"`  // what it enforces
	Node     string    `json:"node,omitempty"`     // the other node of the cluster that runs it for all, or is lent it

	Login    *oauth.Status            `json:"login,omitempty"`
	Wanted   string                   `json:"wanted_login,omitempty"` // by what it takes for its requests, be it up or not
	Accounts map[string]*oauth.Status `json:"accounts,omitempty"`     // by principal, where each has its own
}

// answer is that of a command that changes something, or says where something is.
type answer struct {
	Done  string `json:"done,omitempty"`
	Error string `json:"error,omitempty"`
}

// run carries out a command, and writes a line of JSON for each part of the answer.
func (c *control) run(ctx context.Context, command *daemon.Command, out io.Writer) error {
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false) // lines of an audit stay as they are
	fail := func(err error) error { return lines.Encode(answer{Error: err.Error()}) }
	switch command.Name {
	case "ps":
		return c.ps(ctx, command.All, lines)
	case "logs":
		if command.Server != "" {
			if _, err := c.named(command.Server); err != nil {
				return fail(err)
			}
		}
		return c.book.Read(ctx, command.Server, command.Last, command.Follow, func(l logbook.Line) error { return lines.Encode(l) })
	case "nodes":
		var st clusterState
		if c.cluster != nil {
			st = c.cluster.state()
		}
		return lines.Encode(st)
	case "book":
		return lines.Encode(c.cluster.answerBook(ctx, command.Book))
	case "audit":
		return c.audits(ctx, command.Audit, lines)
	case "approvals":
		return c.approvals(lines)
	case "stop-calls":
		denied, running := c.desk.Stop(stoppedHere, command.Reason)
		if c.cluster != nil {
			if err := c.cluster.stopCalls(ctx, command.Reason); err != nil {
				return fail(err)
			}
		}
		return lines.Encode(stoppedCalls{Done: "all calls are stopped", Denied: denied, Running: running})
	}
	done, ends, err := c.change(ctx, command)
	if ends {
		defer c.end("mcpbridge " + command.Name)
	}
	if err != nil {
		return fail(err)
	}
	return lines.Encode(answer{Done: done})
}

// change carries out a command whose answer is what was done. ends says that this program ends with it.
func (c *control) change(ctx context.Context, command *daemon.Command) (done string, ends bool, err error) {
	switch command.Name {
	case "restart":
		if done, err = c.manage(command.Server, "restarted", (*mcpclient.Client).Restart); err == nil {
			done += c.down(command.Server)
		}
	case "stop":
		if command.Server != "" {
			done, err = c.manage(command.Server, "stopped", (*mcpclient.Client).Stop)
			break
		}
		ends = true
		done = fmt.Sprintf("%s with pid %d has ended", c.about.Kind, os.Getpid())
		if n := c.counts.Snapshot().All.Callers; n > 0 && c.about.Kind == "daemon" {
			done += "; another one starts for " + plural(n, "client")
		}
	case "reload":
		done = "reloaded " + c.about.Config
		if err = errors.New("it has no config"); c.reload != nil {
			err = c.reload()
		}
	case "open":
		if err = errors.New("a daemon has no console: mcpbridge serve has one"); c.open != nil {
			done, err = c.open(), nil
		}
	case "drain":
		if c.drain != nil {
			ends = true
			done, err = c.drained(ctx, command)
		}
	case "decide":
		done, err = c.decide(command)
	case "lift":
		c.desk.Resume(stoppedHere)
		done = "calls run again"
		if c.cluster != nil {
			err = c.cluster.stopCalls(ctx, "")
		}
	default:
		err = fmt.Errorf("unknown command %.40q: this program is mcpbridge %s", command.Name, c.about.Version)
	}
	return done, ends, err
}

// drained drains a serve, and returns what to say about that.
func (c *control) drained(ctx context.Context, command *daemon.Command) (done string, err error) {
	if n := c.drain(ctx, command.Settle, command.Within); n > 0 {
		return "", fmt.Errorf("%s: ended with %s still running", c.title(), plural(n, "call"))
	}
	return c.title() + ": ended; no call was running", nil
}

// title names a serve among others.
func (c *control) title() string {
	if c.cluster != nil {
		return "node " + c.cluster.self.ID + " at " + c.about.url()
	}
	return c.about.url()
}

// clients returns the clients of all stacks, each once.
func (c *control) clients() (all []*mcpclient.Client) {
	for _, s := range c.stacks() {
		for _, client := range s.Clients() {
			if !slices.Contains(all, client) {
				all = append(all, client)
			}
		}
	}
	return all
}

// named returns the clients of the server with a name, of which there is at least one.
func (c *control) named(name string) (found []*mcpclient.Client, err error) {
	var names []string
	for _, client := range c.clients() {
		names = append(names, client.Name())
		if client.Name() == name {
			found = append(found, client)
		}
	}
	switch {
	case names == nil:
		return nil, fmt.Errorf("no server %q here: none is connected now", name)
	case found == nil:
		slices.Sort(names)
		return nil, fmt.Errorf("no server %q here (there are: %s)", name, strings.Join(slices.Compact(names), ", "))
	}
	return found, nil
}

// manage does something to the server with a name.
func (c *control) manage(name, what string, do func(*mcpclient.Client)) (done string, err error) {
	clients, err := c.named(name)
	if c.cluster != nil {
		switch node, here, placed := c.cluster.places.Runner(name); {
		case !placed || here:
		case node == "":
			return "", fmt.Errorf("no node of the cluster runs %s now: try again in a few seconds", name)
		default:
			return "", fmt.Errorf("node %s runs %s for all: give this command on its machine", node, name)
		}
	}
	var doing sync.WaitGroup
	for _, client := range clients { // at once, as each may take almost as long as the answer may
		doing.Go(func() { do(client) })
	}
	doing.Wait()
	return what + " " + name, err
}

// down says that a server is not up, and why; "" for one that is.
func (c *control) down(server string) string {
	clients, _ := c.named(server)
	var links []mcpclient.LinkStatus
	for _, client := range clients {
		links = append(links, client.Links()...)
	}
	return downOf(links)
}

// downOf is down of a server with these connections. It waits for credentials only if all of them do.
func downOf(links []mcpclient.LinkStatus) string {
	waits := ""
	for _, l := range links {
		switch {
		case l.State == mcpclient.Failed:
			return ", and it is down: " + l.Reason
		case l.State == mcpclient.Connecting:
			return ", which is still connecting"
		case l.Waiting():
			waits = ", which is waiting: " + l.Reason
		}
	}
	if slices.ContainsFunc(links, func(l mcpclient.LinkStatus) bool { return !l.Waiting() }) {
		return ""
	}
	return waits
}

// logins returns who is logged in to a server: the operator, nil if not, and the principals at one where
// each has an account of its own. At any other one wanted says what the operator has to do; "" for nothing.
func (c *control) logins(server string) (operator *oauth.Status, accounts map[string]*oauth.Status, wanted string) {
	for _, s := range c.stacks() {
		if client := s.Login(server); client != nil {
			operator, _ = client.Status() // the server itself says what is wrong with its credentials
			accounts = accountsAt(s, server)
			if err := client.Wanted(); err != nil && accounts == nil {
				wanted = err.Error()
			}
			return operator, accounts, wanted
		}
	}
	return nil, nil, ""
}

func (c *control) state() processState {
	now := c.counts.Snapshot()
	st := c.about
	processes, groups := process.Memory()
	delete(groups, 0) // of a server without a process
	st.PID, st.Memory, st.Servers = os.Getpid(), processes[os.Getpid()], []serverState{}
	st.Callers, st.Calls, st.Failed = now.All.Callers, now.All.Calls, now.All.Failed
	st.Quotas, st.Stopped, st.Held = c.quotas(), c.desk.Stopped(), c.desk.Held()
	if c.cluster != nil {
		st.Cluster, st.Node = c.cluster.name, c.cluster.self.ID
	}
	if c.refuse != nil {
		st.Refused = c.refuse()
	}
	held, found, sandboxes, nodes := map[string]int{}, map[string]int{}, map[string]string{}, map[string]string{}
	for _, s := range c.stacks() {
		for _, st := range s.Servers() {
			sandboxes[st.Name], nodes[st.Name] = st.Sandbox, st.Node
			held[st.Name] = max(held[st.Name], st.Held)
			found[st.Name] = max(found[st.Name], len(findingsOf(&st)))
		}
	}
	for _, client := range c.clients() {
		count := now.Servers[client.Name()]
		login, accounts, wanted := c.logins(client.Name())
		links := client.Links()
		if len(links) == 0 {
			links = []mcpclient.LinkStatus{{Status: client.Status()}}
		}
		for _, l := range links {
			st.Servers = append(st.Servers, serverState{
				Name: client.Name(), State: string(l.State), Since: l.Since, PID: l.PID, Memory: groups[l.PID], Callers: l.Callers,
				Calls: count.Calls, Failed: count.Failed, LastCall: count.Last,
				Server: l.Server, Revision: l.Revision, Tools: l.Items[bridge.Tools], Held: held[client.Name()], Findings: found[client.Name()], Reason: l.Reason, Line: l.Line, Login: login, Wanted: wanted, Accounts: accounts,
				Sandbox: sandboxes[client.Name()], Node: nodes[client.Name()],
			})
		}
	}
	return st
}

// answerCommands answers commands to a program that is not a daemon, until stop is called. A program
// without a place for that works all the same.
func (c *control) answerCommands(ctx context.Context, log *slog.Logger) (stop func()) {
	nothing := func() {}
	place, err := daemon.OfProcess(c.about.Config)
	if err != nil {
		log.Debug("commands cannot reach this program", "reason", err)
		return nothing
	}
	c.about.Config = place.Config
	ln, release, err := place.Listen(ctx)
	if err != nil {
		log.Debug("commands cannot reach this program", "reason", err)
		return nothing
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		server := &daemon.Server{Version: c.about.Version, Config: c.about.Config, Log: log, Command: c.run}
		if err := server.Serve(ctx, ln); err != nil {
			log.Debug("commands no longer reach this program", "reason", err)
		}
	}()
	return func() {
		cancel()
		<-ended
		release()
		place.Clear()
	}
}

// newControl returns the control of a program that serves. Its counts must be closed.
func (l *live) newControl(book *logbook.Book, listen string, end func(why string)) *control {
	version, _ := build()
	c := &control{
		about: processState{Kind: "serve", Config: l.cfg.Path, Listen: listen, TLS: l.cfg.TLS.Cert != "", Version: version, Since: time.Now()},
		book:  book, counts: observe.NewCounts(l.Calls()), desk: l.pool.Approvals, quotas: l.pool.Buckets.Quotas, stacks: func() []*stack.Stack { return []*stack.Stack{l.Live.Stack()} }, end: end, refuse: func() int64 { return l.front.Refused() },
	}
	if c.about.Config != "" {
		c.reload = func() error {
			l.forget()
			return l.reload()
		}
	}
	return c
}
