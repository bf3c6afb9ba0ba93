package bench

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/process"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/client"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbench/internal/load"
)

// readyTime is how long a gateway may take from its start until it lists the tool.
const readyTime = time.Minute

// An arm is what is measured beside the others: the direct connection, the floor or the gateway. A
// server behind a gateway is one as well.
type arm struct {
	target  client.Target
	tool    string
	process *process.Process // nil for a stdio client, whose sessions start it
}

//go:embed arms.json
var armsFile []byte // the descriptions of direct and floor

// newArm returns an arm that is described as a gateway is.
func newArm(g Gateway, c Cell) *arm {
	return &arm{tool: g.Tool, target: client.Target{
		Carrier: c.Client, URL: g.Addresses[c.Client], Command: g.command(c), Env: g.Env, Modern: c.Era == Modern,
	}}
}

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
func (a *arm) launch(ctx context.Context, s *process.Supervisor) (took time.Duration, err error) {
	begun := time.Now()
	if a.target.Carrier != client.Stdio {
		command, env := a.target.Command, append(os.Environ(), a.target.Env...)
		a.process, err = process.Start(process.Command{Path: command[0], Args: command[1:], Env: env, Supervisor: s, Grace: process.Grace{Stdin: -1}})
		if err != nil {
			return 0, err
		}
		go io.Copy(io.Discard, a.process.Stdout) // ends with the process
	}
	var fault error // the last one that is not only the end of time
	for {
		err := a.ready(begun.Add(readyTime))
		if fault == nil || !errors.Is(err, os.ErrDeadlineExceeded) {
			fault = err
		}
		if took = time.Since(begun); err == nil {
			return took, nil
		}
		if ended := a.why(nil); ended != nil {
			return 0, ended
		}
		if ctx.Err() != nil || a.process == nil || took > readyTime {
			return 0, fmt.Errorf("it does not list its tools: %w", fault)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// ready opens a session and looks for the tool.
func (a *arm) ready(until time.Time) error {
	target := a.target
	target.Until = until
	s, err := client.Open(target)
	if err != nil {
		return err
	}
	defer s.Close()
	_, err = load.Matching(s, a.tool)
	return err
}

// why returns the error of a process that has ended, else the given one.
func (a *arm) why(err error) error {
	if a.process == nil {
		return err
	}
	select {
	case <-a.process.Done():
		return fmt.Errorf("it has ended: %w: %s", cmp.Or(a.process.Err(), errors.New("exit status 0")), a.process.Tail())
	default:
		return err
	}
}

// A stage has the arms of a setup, and the servers behind them.
type stage struct {
	*Runner
	servers []*arm
	dir     string
	arms    [3]*arm // by Arm; nil for those that are not measured
}

func (s *stage) close() {
	for _, a := range append(s.arms[:], s.servers...) {
		if a != nil {
			a.stop()
		}
	}
	os.RemoveAll(s.dir)
}

// open prepares all that the cells of a setup need, and starts the servers. On an error the caller
// closes the stage as well.
func (s *stage) open(ctx context.Context, g Gateway, c Cell) (err error) {
	if s.dir, err = os.MkdirTemp("", "mcpbench"); err != nil {
		return err
	}
	ports, err := freePorts(3 + c.Servers)
	if err != nil {
		return err
	}
	all, err := ReadGateways(armsFile, "")
	if err != nil {
		return err
	}
	echo := []string{s.Self, "echo", "--tools", strconv.Itoa(c.Tools), fmt.Sprintf("--modern=%t", c.Era == Modern)}
	urls := make([]string, c.Servers)
	for i, port := range ports[3:] {
		own := Cell{Client: client.HTTP, Upstream: client.HTTP}
		server, err := all[DirectArm].fill(own, echo, urls, s.dir, port)
		if err != nil {
			return err
		}
		if urls[i] = server.Addresses[c.Upstream]; c.Upstream != client.Stdio {
			s.servers = append(s.servers, newArm(server, own))
			if _, err := s.servers[i].launch(ctx, s.supervisor); err != nil {
				return fmt.Errorf("echo: %w", err)
			}
		}
	}
	for i, g := range append(all, g) {
		own := c
		if c.Client == client.SSE && Arm(i) != GatewayArm {
			own.Client = client.HTTP // echo and floor do not speak it
		}
		if g.Takes(own) && !(c.Alone && Arm(i) == DirectArm) {
			if g, err = g.fill(own, echo, urls, s.dir, ports[i]); err != nil {
				return err
			}
			s.arms[i] = newArm(g, own)
			err = os.WriteFile(filepath.Join(s.dir, "config.json"), g.Config, 0o600) // the gateway's is the last
		}
	}
	return err
}

// freePorts returns ports that nobody listens on.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		ports = append(ports, port)
	}
	return ports, nil
}
