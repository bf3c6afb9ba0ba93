package mcpserver

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A call of the modern era ends with its client's connection: a silent one because its end is looked
// for, and one with progress because that cannot be written, even if the client has sent more.
func TestModernClientLeaves(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	p := newMade(t, Options{}, func(ctx context.Context, req *bridge.Request) bridge.Reply {
		if req.Method != wire.MethodToolsCall {
			return okay(ctx, req)
		}
		begun <- struct{}{}
		for tick := time.Tick(time.Millisecond); req.Target == "tell" && ctx.Err() == nil; <-tick {
			req.Back.Notify(wire.NotificationProgress, []byte(`{"progressToken":1,"progress":1}`))
		}
		<-ctx.Done()
		ended <- struct{}{}
		return bridge.Failed(unavailable("x"))
	})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- p.Serve(ctx, ln) }()
	for _, c := range []struct{ tool, more string }{{"wait", ""}, {"tell", ""}, {"tell", "POST /m"}} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"_meta":{%q:%q,%q:{}}}}`,
			c.tool, wire.MetaProtocolVersion, wire.ModernRevision, wire.MetaClientCapabilities)
		fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Protocol-Version: %s\r\n"+
			"Mcp-Method: tools/call\r\nMcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s%s", wire.ModernRevision, c.tool, len(body), body, c.more)
		<-begun
		conn.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Fatalf("%s, %q: the call goes on", c.tool, c.more)
		}
	}
	end()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
