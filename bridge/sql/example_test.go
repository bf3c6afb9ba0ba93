package sql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// Definitions of the kind sql, from the config of their database to the results of calls.
func ExampleKind() {
	backend, err := sql.Kind.Open(bridge.BackendConfig{
		Name: "shop", Config: json.RawMessage(`{"type":"sql","url":"sqlite::memory:","write":true}`), Log: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"cents":{"type":"integer"}}}`)
	var tools []bridge.Tool
	for name, spec := range map[string]string{
		"create": `{"query":"CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT, cents INTEGER)","write":true}`,
		"add":    `{"query":"INSERT INTO product (name, cents) VALUES (:name, :cents)","write":true}`,
		"find":   `{"query":"SELECT name, cents FROM product WHERE name = :name"}`,
	} {
		tool, _, err := backend.Tool(toolformat.Tool{Name: name, Description: name, InputSchema: schema}, json.RawMessage(spec))
		if err != nil {
			log.Fatal(err)
		}
		tools = append(tools, tool)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tools...)
	if err != nil {
		log.Fatal(err)
	}
	defer native.Close()

	session, err := native.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, call := range [][2]string{
		{"create", `{}`},
		{"add", `{"name":"Robert'); DROP TABLE product;--","cents":120}`},
		{"find", `{"name":"Robert'); DROP TABLE product;--"}`},
	} {
		params, err := wire.SplitParams([]byte(`{"arguments":` + call[1] + `}`))
		if err != nil {
			log.Fatal(err)
		}
		reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: call[0]})
		fmt.Println(string(wire.Lookup(reply.Result, "structuredContent")))
	}
	// Output:
	// {"affected":0}
	// {"affected":1,"last_id":1}
	// {"rows":[{"name":"Robert'); DROP TABLE product;--","cents":120}],"truncated":false}
}
