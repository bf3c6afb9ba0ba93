package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

// readyTime is how long a gateway may take from its start until it lists the tool.
const readyTime = time.Minute

// An arm is what is measured beside the others: the direct connection, the floor or the gateway.
type arm struct {
	role    role
	process *process.Process // nil for a stdio client, whose sessions start it
	target  client.Target
	tool    string
	start   []string // the command
	env     []string
}

type role string

const (
	direct  role = "direct"
	floor   role = "floor"
	gateway role = "gateway"
)

// pid returns the process of an arm; 0 before a stdio session is open.
func (a *arm) pid() int {
	if a.process == nil {
		return 0
	}
	return a.process.PID()
}

func (a *arm) stop() {
	if a.process != nil {
		a.process.Stop()
	}
}

// launch starts the arm and waits until it lists its tool. It returns how long that took.
func (a *arm) launch(ctx context.Context, s *process.Supervisor) (time.Duration, error) {
	begun := time.Now()
	if a.target.Carrier != client.Stdio {
		p, err := start(a.start, a.env, s)
		if err != nil {
			return 0, err
		}
		a.process = p
	}
	for {
		err := a.ready(begun.Add(readyTime))
		switch {
		case err == nil:
			return time.Since(begun), nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case a.process == nil, time.Since(begun) > readyTime:
			return 0, fmt.Errorf("it does not list its tools: %w", err)
		}
		select {
		case <-a.process.Done():
			return 0, a.gone()
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// ready opens a session and looks for the tool.
func (a *arm) ready(until time.Time) error {
	a.target.Until = until
	s, err := client.Open(a.target)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = load.Matching(s, a.tool)
	return err
}

// gone returns the error of a process that has ended, nil if it has not.
func (a *arm) gone() error {
	if a.process == nil {
		return nil
	}
	select {
	case <-a.process.Done():
		why := "exit status 0"
		if err := a.process.Err(); err != nil {
			why = err.Error()
		}
		return fmt.Errorf("it has ended: %s: %s", why, a.process.Tail())
	default:
		return nil
	}
}

func start(command, env []string, s *process.Supervisor) (*process.Process, error) {
	p, err := process.Start(process.Command{Path: command[0], Args: command[1:], Env: append(os.Environ(), env...), Supervisor: s, Grace: process.Grace{Stdin: -1}})
	if err != nil {
		return nil, err
	}
	go io.Copy(io.Discard, p.Stdout) // ends with the process
	return p, nil
}

// an echoServer is a server behind a gateway: a command, or a URL of a process that runs.
type echoServer struct {
	command []string
	url     string
}

func (e echoServer) values() values {
	quoted := make([]string, len(e.command))
	for i, word := range e.command {
		if quoted[i] = word; strings.ContainsAny(word, " '\"\\") {
			quoted[i] = strconv.Quote(word)
		}
	}
	v := values{strings: map[string]string{"url": e.url, "upstream": strings.Join(quoted, " ")}}
	if len(e.command) > 0 {
		v.strings["command"], v.args = e.command[0], e.command[1:]
	}
	return v
}

// freeAddress returns an address that nobody listens on.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A stage has the arms of a setup, and the servers behind them.
type stage struct {
	*Runner
	servers []*process.Process
	dir     string
	arms    []*arm // direct, floor if there is one, gateway
}

func (s *stage) close() {
	for _, a := range s.arms {
		a.stop()
	}
	for _, p := range s.servers {
		p.Stop()
	}
	os.RemoveAll(s.dir)
}

// open starts all that the cells of a setup need. On an error the caller closes the stage as well.
func (s *stage) open(ctx context.Context, g Gateway, c Cell) (err error) {
	if s.dir, err = os.MkdirTemp("", "mcpbench"); err != nil {
		return err
	}
	ups := make([]echoServer, c.Servers)
	for i := range ups {
		if ups[i] = (echoServer{command: s.echo(c)}); c.Upstream != client.Stdio {
			if ups[i], err = s.serve(ctx, c); err != nil {
				return fmt.Errorf("echo: %w", err)
			}
		}
	}
	if !c.Alone {
		if err := s.addDirect(c); err != nil {
			return err
		}
	}
	if err := s.addFloor(c, ups[0]); err != nil {
		return err
	}
	return s.addGateway(g, c, ups)
}

// echo returns the command of an upstream over stdio.
func (s *stage) echo(c Cell) []string {
	era := "legacy"
	if c.Era == Modern {
		era = "both"
	}
	return []string{s.Self, "echo", "--era", era, "--tools", strconv.Itoa(c.Tools)}
}

// serve starts an upstream over HTTP and WebSocket.
func (s *stage) serve(ctx context.Context, c Cell) (echoServer, error) {
	address, err := freeAddress()
	if err != nil {
		return echoServer{}, err
	}
	a := &arm{role: direct, tool: "echo", start: append(s.echo(c), "--listen", address)}
	a.target = client.Target{Carrier: client.HTTP, URL: "http://" + address + "/mcp", Revision: client.Legacy}
	_, err = a.launch(ctx, s.supervisor)
	if a.process != nil {
		s.servers = append(s.servers, a.process)
	}
	if c.Upstream == client.WS {
		return echoServer{url: "ws://" + address + "/ws"}, err
	}
	return echoServer{url: a.target.URL}, err
}

// addDirect adds the direct connection: an upstream on the client's carrier.
func (s *stage) addDirect(c Cell) error {
	a := &arm{role: direct, tool: "echo", start: s.echo(c)}
	if c.Client == client.Stdio {
		a.target = target(c, "")
		a.target.Command = a.start
	} else {
		address, err := freeAddress()
		if err != nil {
			return err
		}
		a.start = append(a.start, "--listen", address)
		a.target = target(c, "http://"+address+"/mcp")
		if c.Client == client.WS {
			a.target.URL = "ws://" + address + "/ws"
		}
	}
	s.arms = append(s.arms, a)
	return nil
}

func target(c Cell, url string) client.Target {
	t := client.Target{Carrier: c.Client, URL: url, Revision: client.Legacy}
	if t.Carrier == client.SSE {
		t.Carrier = client.HTTP // echo and floor do not speak it
	}
	if c.Era == Modern {
		t.Revision = client.Modern
	}
	return t
}

// addFloor adds the floor, where there is one: it takes HTTP and passes it on to HTTP or stdio.
func (s *stage) addFloor(c Cell, up echoServer) error {
	if c.Client != client.HTTP && c.Client != client.SSE || c.Upstream == client.WS {
		return nil
	}
	address, err := freeAddress()
	if err != nil {
		return err
	}
	command := []string{s.Self, "floor", "--listen", address}
	if c.Upstream == client.Stdio {
		command = append(append(command, "--"), up.command...)
	} else {
		command = append(command, "--upstream", up.url)
	}
	s.arms = append(s.arms, &arm{role: floor, tool: "echo", target: target(c, "http://"+address+"/mcp"), start: command})
	return nil
}

func (s *stage) addGateway(g Gateway, c Cell, ups []echoServer) error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	home, err := filepath.Abs(s.Home)
	if err != nil {
		return err
	}
	command, v, err := g.fill(c, ups, home, s.dir, address)
	if err != nil {
		return err
	}
	a := &arm{role: gateway, tool: g.Tool, target: target(c, v.text(g.Addresses[c.Client])), start: command, env: v.list(g.Env)}
	a.target.Carrier, a.target.Command, a.target.Env = c.Client, command, a.env
	s.arms = append(s.arms, a)
	return nil
}
