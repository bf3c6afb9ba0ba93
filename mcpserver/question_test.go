package mcpserver_test

import (
	"context"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
)

// asking is a source that answers a call with what the client has answered to a question.
type asking struct{}

func (a asking) Open(context.Context, *bridge.Caller) (bridge.Session, error) { return a, nil }
func (a asking) Close() error                                                 { return nil }

func (a asking) List(_ context.Context, kind bridge.ListKind) (*bridge.List, error) {
	return bridge.NewList(kind, nil), nil
}

func (a asking) Do(ctx context.Context, req *bridge.Request) bridge.Reply {
	if req.Method != wire.MethodToolsCall {
		return bridge.Result([]byte(`{}`), nil)
	}
	result, err := req.Back.Ask(ctx, wire.MethodElicit, []byte(`{"message":"?"}`))
	if err != nil {
		return bridge.Failed(err)
	}
	return bridge.Result(result, nil)
}

// An answer of a client that cannot be used ends its question at once, with the reason, and nobody
// answers the answer.
func TestWrongAnswers(t *testing.T) {
	for _, c := range carriers {
		t.Run(c.name, func(t *testing.T) {
			p := c.dial(newHostOf(t, asking{}, mcpserver.Options{MessageBytes: 100 << 10})).greeted(newest)
			answered := make(chan struct{}, 1)
			fails := func(answer, want string) {
				t.Helper()
				ask := func() {
					p.send(call(`"q"`, "ask", "{}"))
					answered <- struct{}{}
				}
				if c.name == "http" {
					go ask() // which lasts until the call is answered
				} else {
					ask()
				}
				id := wire.Lookup([]byte(p.next()), "id")
				status, refusal := p.send(strings.ReplaceAll(answer, "ID", string(id)))
				got := p.next()
				if c.name == "http" && refusal != "" { // which comes as a message too
					got += p.next()
				}
				if strings.Count(got, `"id":`) != 1 && !strings.Contains(got, `"id":null`) || !strings.Contains(got, `"id":"q"`) || !strings.Contains(got, want) {
					t.Errorf("%.80s: HTTP %d, %s, want %q", answer, status, got, want)
				}
				<-answered
			}
			const invalid = "the client sent an answer that is not valid: "
			fails(`{"jsonrpc":"2.0","id":ID,"error":5}`, invalid+`invalid message: \"error\" must be an object`)
			fails(`{"jsonrpc":"2.0","id":ID,"error":null}`, invalid)
			fails(`{"jsonrpc":"2.0","id":ID}`, invalid)
			fails(`{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`, invalid)
			fails(`{"jsonrpc":"1.0","id":ID,"result":{}}`, invalid)
			fails(`{"id":ID,"result":{}}`, invalid)
			fails(`{"jsonrpc":"2.0","result":{}}`, invalid)
			fails(`{"jsonrpc":"2.0","id":ID,"result":{"a":}`, invalid+"not JSON")
			fails(`{"jsonrpc":"2.0","id":ID,"result":`+strings.Repeat("[", 600)+strings.Repeat("]", 600)+`}`, invalid)
			fails("{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":\"\xff\"}", invalid)
			fails(`{"jsonrpc":"2.0","id":ID,"error":{}}`, `"error":{`)
			if c.name != "ws" { // its connection ends
				fails(`{"jsonrpc":"2.0","id":ID,"result":"`+strings.Repeat("x", 200<<10)+`"}`, "over the limit of 102400 bytes")
			}
		})
	}
}
