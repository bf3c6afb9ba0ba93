package rest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/rest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A definition of the kind rest, from the config of its API to the result of a call.
func ExampleKind() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"request":"%s %s"}`, r.Method, r.URL)
	}))
	defer api.Close()

	backend, err := rest.Kind.Open(bridge.BackendConfig{
		Name: "shop", Config: json.RawMessage(`{"type":"rest","url":"` + api.URL + `/v1"}`), Log: slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer backend.Close()
	definition := toolformat.Tool{
		Name:        "orders",
		Description: "Lists the orders of a user.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"user":{"type":"string"},"limit":{"type":"integer"},"state":{"type":"string"}},"required":["user"]}`),
	}
	tool, notes, err := backend.Tool(definition, json.RawMessage(`{"method":"GET","path":"/users/{user}/orders?limit={limit}&sort=desc"}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, n := range notes {
		fmt.Println(n)
	}
	native, err := bridge.NewNative(bridge.NativeOptions{}, tool)
	if err != nil {
		log.Fatal(err)
	}
	defer native.Close()
	call(native, `{"user":"a/b","limit":3}`)
	call(native, `{"user":"../admin"}`)
	// Output:
	// orders: /input_schema/properties/state: state is ignored, as the request has no place for it: a GET has no body
	// {"content":[{"type":"text","text":"{\"request\":\"GET /v1/users/a%2Fb/orders?limit=3&sort=desc\"}"}],"structuredContent":{"request":"GET /v1/users/a%2Fb/orders?limit=3&sort=desc"}}
	// {"content":[{"type":"text","text":"argument user: \"..\" would lead to another path"}],"isError":true}
}

// call calls the tool orders and prints its result.
func call(native *bridge.Native, arguments string) {
	session, err := native.Open(context.Background(), &bridge.Caller{ID: "example"})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	params, err := wire.SplitParams([]byte(`{"arguments":` + arguments + `}`))
	if err != nil {
		log.Fatal(err)
	}
	reply := session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: "orders"})
	fmt.Println(string(reply.Result))
}
