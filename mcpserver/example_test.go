package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// newGreeter returns a source with one tool.
func newGreeter() *bridge.Native {
	source, err := bridge.NewNative(bridge.NativeOptions{ServerInfo: []byte(`{"name":"greeter","version":"1"}`)}, bridge.Tool{
		Tool: toolformat.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)},
		Call: func(_ context.Context, arguments json.RawMessage) (*toolformat.Result, error) {
			var args struct{ Name string }
			if err := json.Unmarshal(arguments, &args); err != nil {
				return nil, err
			}
			return toolformat.TextResult("Hello "+args.Name, false), nil
		},
	})
	if err != nil {
		panic(err)
	}
	return source
}

// A server for clients that have a token, on an address of its own.
func ExampleNew() {
	source := newGreeter()
	defer source.Close()
	server := mcpserver.New(source, mcpserver.Options{
		Access:       mcpserver.Access{Tokens: map[string]string{"ann": os.Getenv("ANN_TOKEN")}},
		MessageBytes: 1 << 20,
	})
	ln, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		panic(err)
	}
	server.Serve(context.Background(), ln)
}

func ExampleServer_Handler() {
	source := newGreeter()
	defer source.Close()
	server := mcpserver.New(source, mcpserver.Options{})
	defer server.Close()
	web := httptest.NewServer(server.Handler())
	defer web.Close()

	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ann"},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, _ := http.NewRequest("POST", web.URL+"/mcp", strings.NewReader(call))
	req.Header = http.Header{"Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"greet"}}
	resp, err := web.Client().Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.Status)
	fmt.Println(string(body))
	// Output:
	// 200 OK
	// {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[{"type":"text","text":"Hello Ann"}]}}
}

func ExampleServer_ServeStdio() {
	source := newGreeter()
	defer source.Close()
	server := mcpserver.New(source, mcpserver.Options{})
	defer server.Close()
	client := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ann"}}}
`)
	if err := server.ServeStdio(context.Background(), client, os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"greeter","version":"1"},"capabilities":{"tools":{"listChanged":true}}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello Ann"}]}}
}

// A handler beside MCP learns whose token came with a request.
func ExampleCallerOf() {
	source := newGreeter()
	defer source.Close()
	server := mcpserver.New(source, mcpserver.Options{
		Access: mcpserver.Access{Tokens: map[string]string{"ann": "secret"}},
		Protected: map[string]http.Handler{"GET /whoami": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintln(w, mcpserver.CallerOf(r).Principal.Name)
		})},
	})
	defer server.Close()
	for _, token := range []string{"secret", "guess"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "http://localhost/whoami", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		server.Handler().ServeHTTP(w, r)
		fmt.Println(w.Code, strings.TrimSpace(w.Body.String()))
	}
	// Output:
	// 200 ann
	// 401 {"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"unknown bearer token"}}
}
