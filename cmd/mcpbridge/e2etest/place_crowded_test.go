package e2etest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/place"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpclient"
	"github.com/mcpbridge/mcpbridge/mcpserver"
	"github.com/mcpbridge/mcpbridge/toolformat"
)

// A principal has at most half of the connections to servers of other nodes: one more call is refused and has surely not
// run, those under way go on, and others still reach such a server, and the other node.
func TestPlacedCrowded(t *testing.T) {
	all := placedNodes(t, 2, `{}`, "upstream")
	source := &held{Fake: sourcetest.NewFake(), began: make(chan bool), end: make(chan bool)}
	for _, n := range all {
		n.places.SetServers(map[string]place.Server{"upstream": {Run: func(ctx context.Context, term *place.Term) {
			mcpserver.New(source, mcpserver.Options{}).Serve(ctx, term)
		}}})
	}
	for _, n := range all {
		for _, over, err := n.places.Link("upstream", ""); err != nil; _, over, err = n.places.Link("upstream", "") {
			<-over
		}
	}
	holder, away := all[0], all[1]
	if _, here, _ := away.places.Runner("upstream"); here {
		holder, away = away, holder
	}
	client := dial(t, mcpclient.Config{URL: "http://localhost/mcp", Via: func(principal string) (func(context.Context) (net.Conn, error), <-chan struct{}, error) {
		return away.places.Link("upstream", principal)
	}})
	open := func(name string) (call func(text string) bridge.Reply) {
		session, err := client.Open(t.Context(), &bridge.Caller{ID: name, Principal: bridge.Principal{Name: name}, Capabilities: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { session.Close() })
		return func(text string) bridge.Reply {
			params, _ := wire.SplitParams(fmt.Appendf(nil, `{"name":"echo","arguments":{"text":%q}}`, text))
			return session.Do(context.Background(), &bridge.Request{Method: wire.MethodToolsCall, Target: "echo", Params: &params})
		}
	}
	ann, bob := open("ann"), open("bob")
	if reply := ann(""); reply.Err != nil {
		t.Fatal(reply.Err)
	}
	way, _, err := away.places.Link("upstream", "ann")
	if err != nil {
		t.Fatal(err)
	}
	var taken []net.Conn
	for c, err := way(t.Context()); err == nil; c, err = way(t.Context()) {
		taken = append(taken, c)
		defer c.Close()
	}
	if len(taken) < 1990 || len(taken) >= 2000 { // ann's client has some
		t.Errorf("%d connections", len(taken))
	}
	replies, running, refused := make(chan bridge.Reply), 0, bridge.Reply{}
	for refused.Err == nil { // until no stream is left for this principal
		go func() { replies <- ann("wait") }()
		select {
		case <-source.began:
			running++
		case refused = <-replies:
		}
	}
	if e := refused.Err; e.Code != toolformat.Unavailable || !e.NotRun || !strings.Contains(e.Message, "servers of other nodes is busy: 2000 calls of this token") {
		t.Errorf("one more: %+v", e)
	}
	if reply := bob(""); reply.Err != nil {
		t.Error("another one's:", reply.Err)
	}
	session := (&fleetNode{url: holder.front.web.URL}).begin(t, "bob")
	status, body := (&fleetNode{url: away.front.web.URL}).send(t, `{"jsonrpc":"2.0","id":2,"method":"ping"}`, map[string]string{"Mcp-Session-Id": session, "Authorization": "Bearer bob"})
	if status != http.StatusOK {
		t.Errorf("a request that is forwarded: HTTP %d %s", status, body)
	}
	close(source.end)
	for range running {
		if reply := <-replies; reply.Err != nil {
			t.Error("one that was under way:", reply.Err)
		}
	}
	taken[0].Close()
	if c, err := way(t.Context()); err != nil {
		t.Error("after one has ended:", err)
	} else {
		c.Close()
	}
}
