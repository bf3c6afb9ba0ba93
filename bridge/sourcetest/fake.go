package sourcetest

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// definitions are the tools of a new Fake, in the order of its list. They have what remote
// servers send and decoders lose: unknown members, big numbers, unusual spacing, escapes, icons,
// annotations, an output schema that is not an object.
var definitions = []string{
	`{"name":"echo","description":"gives its arguments back as structuredContent","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}`,
	`{"inputSchema":{"type":"object"},"description":"fails as a tool fails: <b>\u00e9\u2028 & \ud83d\ude00 \/","name":"fail"}`,
	`{"name":"error","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"idempotentHint":false,"x-unknown":[1.0,1e2]}}`,
	`{"name":"progress","title":"Progress","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":12345678901234567890,"multipleOf":1e-400,"default":-0.0}},"required":["n"]}}`,
	`{"name":"log","inputSchema":{"type":"object"},"_meta":{"vendor/key":{"z":1,"a":2},"ui":{"visibility":["model","app"],"later":1.0}}}`,
	`{"name":"wait","inputSchema":{"type":"object"},"icons":[{"src":"data:image/png;base64,AA==","sizes":["16x16","any"],"mimeType":"image/png"}]}`,
	`{"name":"cancelled","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"},"x-future":{"deep":[[[{"k":null}]]]}}`,
	`{ "name" : "spaced" ,	"inputSchema" : { "type" : "object" , "$defs" : { "a" : true , "" : { } } } }`,
	arrayDefinition,
	`{"name":"change","description":"adds a tool of the given name to the list","inputSchema":{"type":"object"}}`,
}

const arrayDefinition = `{"name":"array","inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema"},"outputSchema":{"type":"array","items":{"type":"integer","minimum":-12345678901234567890}}}`

// errorObject is the JSON-RPC error of the tool error. It passes unchanged only if it is not
// decoded.
const errorObject = `{"code":-32050,"message":"this \u003cfails\u003e","data":{"n":12345678901234567890,"k":[1]}}`

// failResult is the result of the tool fail.
const failResult = `{"content":[{"type":"text","text":"it \u003cfailed\u003e: \ud800"}],"isError":true,"x-unknown":12345678901234567890}`

// A Fake is a source whose tools do what a test needs. It may be used from many goroutines and
// need not be closed.
//
//	echo       returns its arguments, byte for byte, as structuredContent
//	fail       failResult
//	error      errorObject
//	progress   n notifications of progress, then a result
//	log        two log messages, then a result
//	wait       one notification of progress, then nothing until it is canceled
//	cancelled  waits until n calls of wait have been canceled, with progress before and after
//	change     adds a tool of the given name to the list
type Fake struct {
	mu        sync.Mutex // guards what follows
	list      *bridge.List
	sessions  map[*session]struct{}
	cancelled int
	turn      chan struct{} // closed when cancelled grows
	calls     map[string]int
}

// NewFake makes a Fake.
func NewFake() *Fake {
	f := &Fake{sessions: map[*session]struct{}{}, turn: make(chan struct{}), calls: map[string]int{}}
	var items []bridge.Item
	for _, d := range definitions {
		items = append(items, item(d))
	}
	f.list = bridge.NewList(bridge.Tools, items)
	return f
}

func item(definition string) bridge.Item {
	it, err := bridge.NewItem(bridge.Tools, []byte(definition))
	if err != nil {
		panic(err) // the definition of a test
	}
	return it
}

// Add adds a tool to the list and notifies the callers.
func (f *Fake) Add(definition string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = bridge.NewList(bridge.Tools, append(slices.Clone(f.list.Items), item(definition)))
	for s := range f.sessions {
		if s.caller.Notify != nil {
			s.caller.Notify(bridge.Tools.Changed(), nil)
		}
	}
}

// Sessions returns the number of open sessions.
func (f *Fake) Sessions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.sessions)
}

// Calls returns how often a tool has been called.
func (f *Fake) Calls(tool string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[tool]
}

// Open implements bridge.Source.
func (f *Fake) Open(_ context.Context, caller *bridge.Caller) (bridge.Session, error) {
	s := &session{fake: f, caller: caller}
	s.ctx, s.end = context.WithCancel(context.Background())
	f.mu.Lock()
	f.sessions[s] = struct{}{}
	f.mu.Unlock()
	return s, nil
}

type session struct {
	fake   *Fake
	caller *bridge.Caller
	ctx    context.Context
	end    context.CancelFunc
}

func (s *session) List(context.Context, bridge.ListKind) (*bridge.List, error) {
	s.fake.mu.Lock()
	defer s.fake.mu.Unlock()
	return s.fake.list, nil
}

func (s *session) Close() error {
	s.fake.mu.Lock()
	delete(s.fake.sessions, s)
	s.fake.mu.Unlock()
	s.end()
	return nil
}

func (s *session) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	if s.ctx.Err() != nil || ctx.Err() != nil {
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	}
	switch req.Method {
	case wire.MethodDiscover:
		return bridge.Result([]byte(`{"capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"fake","version":"1","x":12345678901234567890},"instructions":"call \u003cecho\u003e"}`), nil)
	case wire.MethodSetLevel:
		return bridge.Result([]byte("{}"), nil)
	case wire.MethodToolsCall:
		return s.call(ctx, req)
	}
	return bridge.Failed(toolformat.Errorf(toolformat.Unsupported, "method not found: %s", req.Method))
}

const done = `{"content":[{"type":"text","text":"done"}]}`

func (s *session) call(ctx context.Context, req *bridge.Request) bridge.Reply {
	f := s.fake
	f.mu.Lock()
	f.calls[req.Target]++
	_, listed := f.list.Find(req.Target)
	f.mu.Unlock()
	args, notify := []byte("{}"), func(string, []byte) {}
	var token []byte
	if req.Params != nil {
		token = req.Params.Get(wire.MetaProgressToken)
		if raw := req.Params.Get(wire.Arguments); raw != nil {
			args = raw
		}
	}
	if req.Back != nil {
		notify = req.Back.Notify
	}
	n, _ := strconv.Atoi(string(wire.Lookup(args, "n")))
	switch req.Target {
	case "echo":
		return bridge.Result(append(append([]byte(`{"content":[],"structuredContent":`), args...), '}'), nil)
	case "fail":
		return bridge.Result([]byte(failResult), nil)
	case "error":
		return bridge.Failed(&toolformat.Error{Message: "this <fails>", Raw: []byte(errorObject)})
	case "progress":
		for i := range n {
			notify(wire.NotificationProgress, progress(token, i+1, n))
		}
	case "log":
		for _, m := range logMessages {
			notify(wire.NotificationMessage, []byte(m))
		}
	case "wait":
		notify(wire.NotificationProgress, progress(token, 1, 0))
		<-ctx.Done()
		f.mu.Lock()
		f.cancelled++
		close(f.turn)
		f.turn = make(chan struct{})
		f.mu.Unlock()
		return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
	case "cancelled":
		if token != nil {
			notify(wire.NotificationProgress, progress(token, 1, 2))
		}
		if !f.awaitCancelled(ctx, n) {
			return bridge.Failed(toolformat.Errorf(toolformat.Canceled, "canceled"))
		}
		if token != nil {
			notify(wire.NotificationProgress, progress(token, 2, 2))
		}
	case "change":
		f.Add(`{"name":` + string(wire.Lookup(args, "name")) + `,"inputSchema":{"type":"object"}}`)
	default:
		if !listed {
			return bridge.Failed(toolformat.Errorf(toolformat.NotFound, "unknown tool: %s", req.Target))
		}
	}
	return bridge.Result([]byte(done), nil)
}

// logMessages are the raw params of the messages of the tool log.
var logMessages = []string{
	`{"level":"info","data":{"n":12345678901234567890,"html":"<>&"}}`,
	`{"data":"\ud800","level":"warning","logger":"x","x-unknown":1e400}`,
}

// progress returns the params of the i-th of n notifications of progress. They hold what
// decoders change.
func progress(token []byte, i, n int) []byte {
	if token == nil {
		token = []byte("null")
	}
	b := append([]byte(`{"progress":`), strconv.Itoa(i)...)
	b = append(append(b, `,"progressToken":`...), token...)
	return append(append(append(b, `,"total":`...), strconv.Itoa(n)...), `,"message":"<\u003e>","x-unknown":12345678901234567890}`...)
}

func (f *Fake) awaitCancelled(ctx context.Context, n int) bool {
	for {
		f.mu.Lock()
		cancelled, turn := f.cancelled, f.turn
		f.mu.Unlock()
		if cancelled >= n {
			return true
		}
		select {
		case <-turn:
		case <-ctx.Done():
			return false
		}
	}
}
