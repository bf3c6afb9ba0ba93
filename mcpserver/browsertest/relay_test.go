package web_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestCarrier runs the contract of a Source through the module, as a carrier.
func TestCarrier(t *testing.T) {
	for _, era := range []string{"modern", "legacy"} {
		t.Run(era, func(t *testing.T) {
			contract := sourcetest.Contract{Decoded: true, Floats: true, Legacy: era == "legacy"}
			contract.Run(t, func(t *testing.T) bridge.Source {
				return &relay{t, newHost(t, sourcetest.NewFake(), mcpserver.Options{}).URL, era}
			})
		})
	}
}

// relay is a source whose sessions are the module in Node.
type relay struct {
	t        *testing.T
	url, era string
}

// relaySession is a process of Node.
type relaySession struct {
	caller *bridge.Caller
	cmd    *exec.Cmd
	in     io.WriteCloser
	done   chan struct{} // closed when the process has ended

	mu      sync.Mutex // guards the fields below
	last    int
	calls   map[int]*relayCall
	closing bool
}

type relayCall struct {
	back  bridge.Back
	token []byte
	reply chan bridge.Reply
}

// relayed is a line of the process.
type relayed struct {
	ID            int
	Changed       bool
	Log, Progress json.RawMessage
	Result        json.RawMessage
	Error         *struct{ Code, Message string }
}

func (r *relay) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s := &relaySession{caller: caller, cmd: nodeCommand(r.t, "relay.mjs", r.url, r.era), calls: map[int]*relayCall{}, done: make(chan struct{})}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.cmd.Stderr = r.t.Output()
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(out)
	r.t.Cleanup(func() { s.Close() })
	return s, nil
}

func (s *relaySession) read(out io.Reader) {
	defer close(s.done)
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			s.cmd.Wait()
			return
		}
		var m relayed
		if err := json.Unmarshal(line, &m); err != nil {
			panic(err)
		}
		s.take(&m)
	}
}

func (s *relaySession) take(m *relayed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := s.calls[m.ID]
	switch {
	case m.Changed:
		if s.caller.Notify != nil {
			s.caller.Notify(bridge.Tools.Changed(), nil)
		}
	case m.Log != nil:
		for _, c := range s.calls {
			if c.back != nil {
				c.back.Notify(wire.NotificationMessage, m.Log)
			}
		}
	case call == nil: // it was canceled
	case m.Progress != nil:
		call.back.Notify(wire.NotificationProgress, wire.SetMember(m.Progress, "progressToken", call.token))
	case m.Error != nil:
		code, _ := toolformat.ParseCode(m.Error.Code)
		call.reply <- bridge.Failed(toolformat.Errorf(code, "%s", m.Error.Message))
		delete(s.calls, m.ID)
	default:
		call.reply <- bridge.Result(m.Result, nil)
		delete(s.calls, m.ID)
	}
}

func (s *relaySession) List(ctx context.Context, kind bridge.ListKind) (*bridge.List, error) {
	reply := s.Do(ctx, &bridge.Request{Method: kind.Method()})
	if reply.Err != nil {
		return nil, reply.Err
	}
	var items []bridge.Item
	for raw := range wire.Elements(wire.Lookup(reply.Result, kind.Member())) {
		it, err := bridge.NewItem(kind, raw)
		if err != nil {
			return nil, err
		}
		items = append(items, it)
	}
	slices.SortFunc(items, func(a, b bridge.Item) int { return strings.Compare(a.Key, b.Key) })
	return bridge.NewList(kind, items), nil
}

func (s *relaySession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	call := &relayCall{back: req.Back, reply: make(chan bridge.Reply, 1)}
	params := []byte("{}")
	if req.Params != nil {
		params = req.Params.Append(nil, req.Edits...)
		call.token = req.Params.Get(wire.MetaProgressToken)
	}
	s.mu.Lock()
	closing := s.closing
	s.last++
	id := s.last
	s.calls[id] = call
	s.mu.Unlock()
	gone := bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	if closing || ctx.Err() != nil {
		return gone
	}
	s.write(map[string]any{"id": id, "method": req.Method, "params": json.RawMessage(params), "progress": call.token != nil && call.back != nil})
	select {
	case reply := <-call.reply:
		return reply
	case <-ctx.Done():
		s.mu.Lock()
		delete(s.calls, id)
		s.mu.Unlock()
		s.write(map[string]any{"cancel": id})
	case <-s.done:
	}
	return gone
}

func (s *relaySession) write(message any) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.in.Write(append(line, '\n'))
}

func (s *relaySession) Close() error {
	s.mu.Lock()
	s.closing = true
	clear(s.calls) // no answer is awaited
	s.mu.Unlock()
	s.in.Close()
	<-s.done
	return nil
}
