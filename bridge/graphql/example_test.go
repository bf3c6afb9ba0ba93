package graphql_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/graphql"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A definition of the kind graphql, from the config of its API to the result of a call.
func ExampleKind() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Println(string(body))
		io.WriteString(w, `{"data":{"user":{"name":"Ada"}}}`)
	}))
	defer api.Close()

	backend, err := graphql.Kind.Open(bridge.BackendConfig{
		Name: "people", Config: json.RawMessage(`{"type":"graphql","url":"` + api.URL + `"}`), Log: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	definition := toolformat.Tool{
		Name:        "user",
		Description: "Finds a user.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`),
	}
	tool, _, err := backend.Tool(definition, json.RawMessage(`{"query":"query ($id: ID!) { user(id: $id) { name } }","select":"/user/name"}`))
	if err != nil {
		log.Fatal(err)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tool)
	if err != nil {
		log.Fatal(err)
	}
	defer native.Close()

	session, err := native.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	params, err := wire.SplitParams([]byte(`{"arguments":{"id":7}}`))
	if err != nil {
		log.Fatal(err)
	}
	reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "user"})
	fmt.Println(string(reply.Result))

	_, _, err = backend.Tool(definition, json.RawMessage(`{"query":"query ($id: ID!) { user(id: $ids) }"}`))
	fmt.Println(err)
	// Output:
	// {"query":"query ($id: ID!) { user(id: $id) { name } }","variables":{"id":"7"}}
	// {"content":[{"type":"text","text":"Ada"}]}
	// graphql: query: line 1, column 30: the operation does not declare the variable $ids (did you mean $id?)
}
