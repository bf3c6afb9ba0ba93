package ledger_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/ledger"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

func open(t testing.TB, opts ledger.Options) *ledger.Book {
	t.Helper()
	b, err := ledger.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// A ledger keeps the contract of a Source, but for a call that is repeated after it was canceled: here each has
// a key of its own.
func TestContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		return withKeys(open(t, ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.jsonl")}).Wrap(sourcetest.NewFake()))
	})
}

func withKeys(source bridge.Source) bridge.Source {
	return bridge.Wrap(source, func(below bridge.Session, _ *bridge.Caller) (bridge.Session, error) {
		return &keySession{Session: below}, nil
	})
}

type keySession struct {
	bridge.Session
	last atomic.Int64
}

func (s *keySession) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	own := *req
	own.Key = fmt.Sprint(s.last.Add(1))
	return s.Session.Do(ctx, &own)
}

// tools is a source with the tools pay, put (idempotent) and look (read-only), and one that is not trusted. Each call of
// pay is a payment.
type tools struct {
	paid int
	do   func(ctx context.Context, req *bridge.Request) bridge.Reply // nil pays
}

func (s *tools) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return s, nil }
func (s *tools) Close() error                                                 { return nil }

func (s *tools) List(context.Context, bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(bridge.Tools, []bridge.Item{
		{Key: "pay", Member: "bank", Raw: []byte(`{"name":"pay"}`)},
		{Key: "put", Member: "bank", Raw: []byte(`{"name":"put","annotations":{"idempotentHint":true}}`), Repeatable: true},
		{Key: "look", Member: "bank", Raw: []byte(`{"name":"look","annotations":{"readOnlyHint":true}}`), Repeatable: true},
		{Key: "lie", Member: "bank", Raw: []byte(`{"name":"lie","annotations":{"readOnlyHint":true}}`), Untrusted: true},
	}), nil
}

func (s *tools) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if s.do != nil {
		return s.do(ctx, req)
	}
	s.paid++
	return bridge.Result([]byte("{\"content\":[],\n\"structuredContent\":{\"n\":1}}"), nil)
}

// client is a session of ann in front of tools.
type client struct {
	testing.TB
	session bridge.Session
}

func dial(t testing.TB, b *ledger.Book, s bridge.Source) client {
	t.Helper()
	session, err := b.Wrap(s).Open(t.Context(), &bridge.Caller{Principal: bridge.Principal{Name: "ann"}, Info: []byte(`{"name":"editor"}`)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return client{t, session}
}

// call calls a tool; rest are members of the params beside the name.
func (c client) call(tool, rest string) bridge.Reply {
	c.Helper()
	params, err := wire.SplitParams([]byte(`{"name":"` + tool + `"` + rest + `}`))
	if err != nil {
		c.Fatal(err)
	}
	return c.session.Do(c.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool})
}

func (c client) expect(reply bridge.Reply, want string) {
	c.Helper()
	got := string(reply.Result)
	if reply.Err != nil {
		got = reply.Err.Code.String() + ": " + reply.Err.Message
	}
	if !strings.Contains(got, want) {
		c.Errorf("got %s, want %s", got, want)
	}
}

const (
	key   = `,"_meta":{"idempotencyKey":"k"},"arguments":{"to":"bob","sum":5}`
	same  = `,"idempotencyKey":"k","arguments":{"sum":5, "to":"b\u006fb"}`
	other = `,"_meta":{"idempotencyKey":"k"},"arguments":{"to":"bob","sum":6}`
	plain = `,"arguments":{"to":"bob","sum":5}`
)

// lost is the error of a call whose answer was lost.
func lost(context.Context, *bridge.Request) bridge.Reply {
	return bridge.Failed(toolformat.Errorf(toolformat.Unavailable, "lost"))
}

// A call with a key is made once, across restarts.
func TestKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: path}), bank)
	c.expect(c.call("pay", key), `"n":1`)
	c.expect(c.call("pay", same), `"n":1`)
	c.expect(c.call("pay", other), "invalid: tool pay was called with this idempotency key and other arguments at ")
	c.expect(c.call("pay", `,"idempotencyKey":"k","arguments":{"to":"bob","sum":5.0}`), "and other arguments at ")
	c.expect(c.call("pay", `,"idempotencyKey":5`), "invalid: tools/call: params.idempotencyKey must be a string")
	c = dial(t, open(t, ledger.Options{Path: path}), bank)
	c.expect(c.call("pay", key), `"n":1`)
	if bank.paid != 1 {
		t.Errorf("paid %d times", bank.paid)
	}
	c.expect(c.call("put", key), `"n":1`) // another tool
	c.expect(c.call("pay", plain), `"n":1`)
	if bank.paid != 3 {
		t.Errorf("paid %d times, want 3", bank.paid)
	}
	calls, err := ledger.Read(path)
	if err != nil || len(calls) != 3 || calls[0].Principal != "ann" || calls[0].Client != "editor" || calls[0].Server != "bank" || calls[0].Outcome != ledger.Ran {
		t.Errorf("the book has %+v, %v", calls, err)
	}
	text, _ := os.ReadFile(path)
	if strings.Contains(string(text), "bob") || strings.Contains(string(text), `"k"`) {
		t.Errorf("the book has a value:\n%s", text)
	}
}

// A call has one key, wherever it is given.
func TestTwoKeys(t *testing.T) {
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: filepath.Join(t.TempDir(), "l")}), bank)
	call := func(header, rest string) bridge.Reply {
		params, err := wire.SplitParams([]byte(`{"name":"pay"` + rest + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return c.session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "pay", Key: header})
	}
	for _, of := range []struct{ header, rest, want string }{
		{"", `,"idempotencyKey":"a","_meta":{"idempotencyKey":"b"}`, "params.idempotencyKey and params._meta.idempotencyKey are different keys"},
		{"a", `,"idempotencyKey":"b"`, "the header Idempotency-Key and params.idempotencyKey are different keys"},
		{"a", `,"_meta":{"idempotencyKey":"b"}`, "the header Idempotency-Key and params._meta.idempotencyKey are different keys"},
		{"a", `,"idempotencyKey":"a","_meta":{"idempotencyKey":"a"}`, `"n":1`},
	} {
		c.expect(call(of.header, of.rest), of.want)
	}
	if bank.paid != 1 {
		t.Errorf("paid %d times, want 1", bank.paid)
	}
}

// A result that is too long is not kept: the repeated call says when it ran.
func TestLongResult(t *testing.T) {
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: filepath.Join(t.TempDir(), "l"), MaxResult: 10}), bank)
	c.call("pay", key)
	c.expect(c.call("pay", key), "denied: tool pay has run with this idempotency key at ")
	if bank.paid != 1 {
		t.Errorf("paid %d times", bank.paid)
	}
}

// What is unknown is never repeated with the same key, and once refused without one. Both outlast a restart.
func TestUnknown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	bank := &tools{do: lost}
	c := dial(t, open(t, ledger.Options{Path: path}), bank)
	c.expect(c.call("pay", key), "unavailable: lost")
	c.expect(c.call("pay", `,"arguments":{"to":"eve"}`), "unavailable: lost")
	c.expect(c.call("put", plain), "unavailable: lost")
	c.expect(c.call("look", plain), "unavailable: lost")
	bank.do = nil
	for range 2 {
		c.expect(c.call("pay", key), "denied: tool pay was called with this idempotency key at ")
		c = dial(t, open(t, ledger.Options{Path: path}), bank)
	}
	c.expect(c.call("put", plain), `"n":1`) // idempotent
	c.expect(c.call("look", plain), `"n":1`)
	if bank.paid != 2 {
		t.Fatalf("paid %d times, want 2", bank.paid)
	}
	c.expect(c.call("pay", `,"arguments":{"to": "eve"}`), "and whether it ran is not known: look before you call it again")
	c = dial(t, open(t, ledger.Options{Path: path}), bank)
	c.expect(c.call("pay", `,"arguments":{"to":"eve"}`), `"n":1`)
	c.expect(c.call("pay", `,"arguments":{"to":"eve"}`), `"n":1`)
	if bank.paid != 4 {
		t.Errorf("paid %d times, want 4", bank.paid)
	}
}

// What surely did not run may be called again with the same key.
func TestNotRun(t *testing.T) {
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: filepath.Join(t.TempDir(), "l")}), bank)
	for _, e := range []*toolformat.Error{
		{Code: toolformat.Unavailable, NotRun: true}, {Code: toolformat.Denied}, {Code: toolformat.NotFound}, {Code: toolformat.Invalid},
	} {
		bank.do = func(context.Context, *bridge.Request) bridge.Reply { return bridge.Failed(e) }
		c.expect(c.call("pay", key), e.Code.String())
	}
	bank.do = func(context.Context, *bridge.Request) bridge.Reply {
		return bridge.Reply{Result: []byte(`{"resultType":"input_required"}`), Modern: true}
	}
	c.expect(c.call("pay", key), "input_required")
	bank.do = nil
	c.expect(c.call("pay", key), `"n":1`)
}

// Read-only tools are not in the book, unless nobody trusts what is said of them.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	c := dial(t, open(t, ledger.Options{Path: path}), &tools{})
	for _, tool := range []string{"look", "lie", "none"} {
		c.call(tool, "")
	}
	calls, err := ledger.Read(path)
	if err != nil || len(calls) != 2 || calls[0].Tool != "lie" || calls[1].Tool != "none" {
		t.Errorf("the book has %+v, %v", calls, err)
	}
}

// A call waits for the one with its key that is under way.
func TestUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bank := &tools{}
		bank.do = func(context.Context, *bridge.Request) bridge.Reply {
			time.Sleep(time.Minute)
			bank.paid++
			return bridge.Result([]byte(`{"n":1}`), nil)
		}
		c := dial(t, open(t, ledger.Options{Path: filepath.Join(t.TempDir(), "l")}), bank)
		done := make(chan bool)
		for range 3 {
			go func() {
				c.expect(c.call("pay", key), `"n":1`)
				done <- true
			}()
		}
		for range 3 {
			<-done
		}
		if bank.paid != 1 {
			t.Errorf("paid %d times", bank.paid)
		}
	})
}

// A call that cannot be written down is not made, and the error names the file.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	path := filepath.Join(dir, "ledger.jsonl")
	bank := &tools{}
	c := dial(t, open(t, ledger.Options{Path: path}), bank)
	if err := os.RemoveAll(dir); err != nil {
		t.Skip("the system does not remove an open file")
	}
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.expect(c.call("pay", plain), "unavailable: tool pay is not called, as that cannot be written to the ledger "+path)
	if bank.paid != 0 {
		t.Error("paid")
	}
	os.Remove(dir)
	c.expect(c.call("pay", plain), `"n":1`)
}

// Two books of one file are those of two processes: a key counts in both, and a call that is under way in one is unknown
// in the other.
func TestTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	bank := &tools{}
	a, b := dial(t, open(t, ledger.Options{Path: path}), bank), dial(t, open(t, ledger.Options{Path: path}), bank)
	a.expect(a.call("pay", key), `"n":1`)
	b.expect(b.call("pay", plain), `"n":1`)
	b.expect(b.call("pay", key), `"n":1`)
	if bank.paid != 2 {
		t.Errorf("paid %d times, want 2", bank.paid)
	}
	bank.do = func(context.Context, *bridge.Request) bridge.Reply {
		bank.do = nil
		b.call("lie", "") // which reads
		b.expect(b.call("pay", `,"idempotencyKey":"second"`), "denied: tool pay was called with this idempotency key at ")
		return bridge.Result([]byte(`{"n":1}`), nil)
	}
	a.expect(a.call("pay", `,"idempotencyKey":"second"`), `"n":1`)
	b.call("lie", "")
	b.expect(b.call("pay", `,"idempotencyKey":"second"`), `"n":1`)
}

// The outcome of a call may be a moment late in the file: the same call in another process waits for that.
func TestLateOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := ledger.Options{Path: filepath.Join(t.TempDir(), "ledger.jsonl")}
		bank := &tools{}
		one, other := dial(t, open(t, opts), bank), dial(t, open(t, opts), bank)
		for range 3 {
			one.expect(one.call("pay", ""), `"n":1`)
			other.expect(other.call("pay", ""), `"n":1`)
		}
		time.Sleep(ledger.MaxLate) // in the bubble: the last line is written
	})
}

// Many callers of two processes at once, which rotate the file often: no key is paid for twice, and all that ran is in it.
// Of two calls that come at once, each may give way to the other.
func TestManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	const keys, callers = 200, 8
	var paid [keys]atomic.Int64
	bank := &tools{}
	bank.do = func(_ context.Context, req *bridge.Request) bridge.Reply {
		n, _ := strconv.Atoi(string(wire.Lookup(req.Params.Get(wire.Arguments), "n")))
		paid[n].Add(1)
		return bridge.Result([]byte(`{"n":1}`), nil)
	}
	var work sync.WaitGroup
	for range 2 {
		b := open(t, ledger.Options{Path: path, MaxBytes: 20000, Files: 100})
		for range callers {
			c := dial(t, b, bank)
			work.Go(func() {
				for n := range keys {
					c.call("pay", fmt.Sprintf(`,"idempotencyKey":"k%d","arguments":{"n":%d}`, n, n))
				}
			})
		}
	}
	work.Wait()
	total := 0
	for n := range paid {
		got := int(paid[n].Load())
		if total += got; got > 1 {
			t.Errorf("key %d was paid for %d times", n, got)
		}
	}
	calls, err := ledger.Read(path)
	ran := 0
	for _, c := range calls {
		if c.Outcome == ledger.Ran {
			ran++
		}
	}
	if err != nil || ran != total || total < keys/2 {
		t.Errorf("%d keys of %d were paid for; in the book are %d; %v", total, keys, ran, err)
	}
}
