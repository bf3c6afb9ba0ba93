package sql

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// TestLaw: a Native of SQL tools keeps the contract of a Source. Each tool has a definition of the
// Fake; its call runs the query and is then answered by the Fake.
func TestLaw(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) bridge.Source {
		s := openShop(t, sqliteDialect, "", `{"url":"sqlite::memory:","maxOpen":4}`)
		return sourcetest.Native(t, func(definition toolformat.Tool, handOn sourcetest.Call) sourcetest.Call {
			tool, _, err := s.Tool(definition, json.RawMessage(`{"query":"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c WHERE x < 50) SELECT x FROM c"}`))
			if err != nil {
				t.Error(err)
			}
			return func(ctx context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
				if _, err := tool.Call(ctx, arguments); err != nil {
					return nil, err
				}
				return handOn(ctx, arguments)
			}
		})
	})
}

// Within a Native, arguments are valid and have their defaults, errors for the model are results,
// and nothing goes on after Close.
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
		serve := sourcetest.Serve(t, tool, broken)
		for _, c := range []struct{ tool, arguments, want string }{
			{"products", `{"customerid":7.0}`, `{"content":[{"type":"text","text":"[{\"id\":1,\"name\":\"nut\"}]"}],"structuredContent":{"rows":[{"id":1,"name":"nut"}],"truncated":false}}`},
			{"products", `{"customerid":9007199254740993,"limit":5}`, `{"content":[{"type":"text","text":"[{\"id\":3,\"name\":\"it's\"}]"}],"structuredContent":{"rows":[{"id":3,"name":"it's"}],"truncated":false}}`},
			{"products", `{"customerid":1}`, `{"content":[{"type":"text","text":"[]"}],"structuredContent":{"rows":[],"truncated":false}}`},
		} {
			r := serve(t.Context(), c.tool, c.arguments)
			if r.Err != nil {
				t.Fatal(r.Err, r.Err.Cause)
			}
			want(t, c.arguments, string(r.Result), c.want)
		}
		for tool, arguments := range map[string]string{"products": `{"customerid":"7 OR 1=1"}`, "t": `{}`} {
			r := serve(t.Context(), tool, arguments)
			if r.Err != nil || !(&toolformat.Result{JSON: r.Result}).IsError() {
				t.Errorf("%s: %s, %v", tool, r.Result, r.Err)
			}
		}
	})
}
