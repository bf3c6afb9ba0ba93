package peer_test

import (
	"fmt"
	"net"

	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
)

// A server and a client that are joined by a pipe.
func ExampleNewServer() {
	server := peer.NewServer(peer.Legacy)
	server.Tools = `{"name":"greet","inputSchema":{"type":"object"}}`
	server.Take = func(c *peer.Call) {
		c.Reply(`"content":[{"type":"text","text":"hello ` + c.Argument("name") + `"}]`)
	}
	near, far := net.Pipe()
	go server.ServeLines(far)

	client := peer.Lines(near, near, near.Close)
	defer client.Close()
	_ = client.Send([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"you"}}}`), nil)
	fmt.Println(string((<-client.In).Raw))
	fmt.Println(len(server.Seen("tools/call")))
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello you"}]}}
	// 1
}
