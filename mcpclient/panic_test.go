package mcpclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// panicking is a caller whose functions panic.
type panicking struct{}

func (panicking) Notify(string, []byte) { panic("Notify is broken") }

func (panicking) Ask(context.Context, string, []byte) ([]byte, *toolformat.Error) {
	panic("Ask is broken")
}

// A panic of a caller's code costs a notification, or is the answer to a question; the connection
// and the other requests go on. Its cause is for the log alone.
func TestCallerPanics(t *testing.T) {
	for _, era := range []string{peer.Legacy, peer.Modern} {
		for _, path := range []string{"/mcp", "/ws"} {
			t.Run(era+path, func(t *testing.T) {
				sourcetest.NoLeaks(t)
				synctest.Test(t, func(t *testing.T) { callerPanics(t, era, path) })
			})
		}
	}
}

func callerPanics(t *testing.T, era, path string) {
	server, network, log := peer.NewServer(era), peer.NewNetwork(), new(bytes.Buffer)
	server.Tools = `{"name":"t","inputSchema":{}}`
	server.Take = func(c *peer.Call) {
		c.Say(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + string(c.Params.Get(wire.MetaProgressToken)) + `,"progress":1}}`)
		c.Say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}`)
		switch {
		case c.Name() != "ask":
			c.Reply(`"content":[]`)
		case era == peer.Modern:
			c.Reply(`"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create","params":{}}}`)
		default:
			c.Reply(`"answer":` + c.Ask(peer.Question{Method: wire.MethodElicit, Params: "{}"})[0])
		}
	}
	url := server.Serve(t, network) + path
	if path == "/ws" {
		url = "ws" + strings.TrimPrefix(url, "http")
	}
	client := mcpclient.New(mcpclient.Config{Name: "up", URL: url, Log: slog.New(slog.NewTextHandler(log, nil))})
	client.DialThrough(network.Dial)
	session, err := client.Open(t.Context(), &bridge.Caller{ID: "c", Capabilities: []byte(`{"elicitation":{}}`), Notify: panicking{}.Notify, Ask: panicking{}.Ask})
	if err != nil {
		t.Fatal(err)
	}
	call := func(tool string) bridge.Reply {
		params, _ := wire.SplitParams([]byte(`{"name":"` + tool + `","_meta":{"progressToken":7}}`))
		return session.Do(t.Context(), &bridge.Request{Method: wire.MethodToolsCall, Params: &params, Target: tool, Back: panicking{}})
	}
	if _, err := session.List(t.Context(), bridge.Tools); err != nil {
		t.Fatal(err)
	}
	reply := call("ask")
	answer := string(reply.Result)
	if reply.Err != nil {
		answer = reply.Err.Message
	}
	if !strings.Contains(answer, "internal error") || strings.Contains(answer, "broken") {
		t.Errorf("the answer to the question: %s", answer)
	}
	server.Update(func() { server.Tools += `,{"name":"u","inputSchema":{}}` })
	server.Announce(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	synctest.Wait()
	if reply := call("t"); reply.Err != nil {
		t.Errorf("a later call: %v", reply.Err)
	}
	client.Close()
	if text := log.String(); strings.Count(text, "Notify is broken") < 4 || !strings.Contains(text, "Ask is broken") {
		t.Errorf("the log: %s", text)
	}
}
