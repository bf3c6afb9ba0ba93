package sql

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestLaw: a source of SQL tools keeps the contract. Each tool has a definition of the
// Fake's; its call runs the query, and then hands on to the Fake, which answers.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		s := openShop(t, sqliteDialect, "", `{"url":"sqlite::memory:","maxOpen":4}`)
		fake := sourcetest.NewFake()
		below, err := fake.Open(t.Context(), &bridge.Caller{ID: "sql"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { below.Close() })
		tools := func() (all []bridge.Tool) {
			l, err := below.List(t.Context(), bridge.Tools)
			if err != nil {
				t.Error(err)
				return nil
			}
			for _, it := range l.Items {
				tool, _, err := s.Tool(it.Tool(), json.RawMessage(`{"query":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 50) SELECT x FROM c"}`))
				if err != nil {
					t.Error(err)
				}
				query := tool.Call
				tool.Timeout = time.Minute
				tool.Call = func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
					if _, err := query(ctx, arguments); err != nil {
						return nil, err
					}
					return handOn(ctx, below, arguments)
				}
				all = append(all, tool)
			}
			return all
		}
		n, err := bridge.NewNative(bridge.NativeOptions{}, tools()...)
		if err != nil {
			t.Fatal(err)
		}
		var changes sync.WaitGroup
		changed, err := fake.Open(t.Context(), &bridge.Caller{ID: "changes", Notify: func(string, []byte) {
			changes.Go(func() { // the Fake tells of a change while it makes it
				if err := n.Replace(tools()...); err != nil {
					t.Error(err)
				}
			})
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			changed.Close()
			changes.Wait()
			if err := n.Close(); err != nil {
				t.Error(err)
			}
		})
		return n
	})
}

// handOn makes the call that ctx belongs to of another session.
func handOn(ctx context.Context, below bridge.Session, arguments json.RawMessage) (*toolformat.Result, error) {
	req, _ := bridge.RequestOf(ctx)
	raw := append(wire.AppendString([]byte(`{"name":`), req.Target), `,"arguments":`...)
	raw = append(raw, arguments...)
	if token := req.Params.Get(wire.MetaProgressToken); token != nil {
		raw = append(append(append(raw, `,"_meta":{"progressToken":`...), token...), '}')
	}
	params, err := wire.SplitParams(append(raw, '}'))
	if err != nil {
		return nil, err
	}
	r := below.Do(ctx, &bridge.Request{Method: req.Method, Params: &params, Target: req.Target, Back: req.Back})
	if r.Err != nil {
		return nil, r.Err
	}
	return &toolformat.Result{JSON: r.Result}, nil
}

// Through a Native: valid arguments with their defaults, the model's errors as results,
// and nothing that goes on when all has been closed.
func TestNative(t *testing.T) {
	onEach(t, func(t *testing.T, s *shop) {
		sourcetest.NoLeaks(t)
		s = newShop(t, s.dialect, "").fill()
		tool, notes, err := s.Tool(toolformat.Tool{
			Name:        "products",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"customerid":{"type":"integer"},"limit":{"type":"integer","default":1}},"required":["customerid"]}`),
		}, json.RawMessage(`{"query":"SELECT id, name FROM product WHERE customerid = :customerid ORDER BY id LIMIT :limit"}`))
		if err != nil || notes != nil {
			t.Fatal(err, notes)
		}
		broken := s.tool(`SELECT nothing FROM product`)
		session := native(t, tool, broken)
		for _, c := range []struct{ tool, arguments, want string }{
			{"products", `{"customerid":7.0}`, `{"content":[{"type":"text","text":"[{\"id\":1,\"name\":\"nut\"}]"}],"structuredContent":{"rows":[{"id":1,"name":"nut"}],"truncated":false}}`},
			{"products", `{"customerid":9007199254740993,"limit":5}`, `{"content":[{"type":"text","text":"[{\"id\":3,\"name\":\"it's\"}]"}],"structuredContent":{"rows":[{"id":3,"name":"it's"}],"truncated":false}}`},
			{"products", `{"customerid":1}`, `{"content":[{"type":"text","text":"[]"}],"structuredContent":{"rows":[],"truncated":false}}`},
		} {
			r := callNative(t.Context(), session, c.tool, c.arguments)
			if r.Err != nil {
				t.Fatal(r.Err, r.Err.Cause)
			}
			want(t, c.arguments, string(r.Result), c.want)
		}
		for tool, arguments := range map[string]string{"products": `{"customerid":"7 OR 1=1"}`, "t": `{}`} {
			r := callNative(t.Context(), session, tool, arguments)
			if r.Err != nil || !(&toolformat.Result{JSON: r.Result}).IsError() {
				t.Errorf("%s: %s, %v", tool, r.Result, r.Err)
			}
		}
	})
}
