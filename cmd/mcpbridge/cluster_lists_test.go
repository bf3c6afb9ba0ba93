package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A client hears of a list that has changed at a server as soon as another node has seen it, and of what is accepted of
// it at another one, and nodes that have other definitions know of that.
func TestChangesOfNodes(t *testing.T) {
	setFolders(t)
	docs, nats := peer.NewServer(peer.Legacy), fleettest.NATS(t)
	docs.Tools = `{"name":"grow","inputSchema":{}}`
	docs.Before = func(c *peer.Call) bool {
		if c.Name() != "grow" {
			return false
		}
		docs.Update(func() { docs.Tools += `,{"name":"grown","inputSchema":{}}` }) // and it tells nobody
		c.Reply(`"content":[]`)
		return true
	}
	url := docs.Serve(t, nil)
	var nodes []*serving
	for _, node := range []string{"a", "b"} {
		nodes = append(nodes, serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": %q, "secrets": [%q], "nats": %q},
			"mcpServers": {"docs": {"url": %q, "sharing": "shared", "prefix": "", "pin": true}}, "tools": ["own.tools.json"]}`, node, fleettest.Secret, nats, url+"/mcp"), map[string]string{"own.tools.json": "[]"}))
	}
	client, err := peer.DialSSE(t.Context(), nodes[1].url+"/sse", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	say := func(message string) {
		t.Helper()
		if err := client.Send([]byte(message), http.Header{}); err != nil {
			t.Fatal(err)
		}
	}
	hear := func(text string) {
		t.Helper()
		for got := range client.In {
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			if strings.Contains(string(got.Raw), text) {
				return
			}
		}
	}
	say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
	hear(`"id":1`)
	say(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	say(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	hear(`"id":2`)
	for _, request := range []struct{ method, params string }{{"tools/call", `"name":"grow","arguments":{},`}, {"tools/list", ""}} {
		resp, body := nodes[0].request(request.method, "grow", request.params)
		if resp.StatusCode != http.StatusOK {
			t.Fatal(body)
		}
	}
	hear(wire.NotificationToolsChanged)
	config := filepath.Join(nodes[0].dir, "mcpbridge.json")
	printedBy(t, "pins", "--config", config)
	if got := printedBy(t, "pins", "accept", "docs", "--config", config); got != "accepted tool grown\n" {
		t.Error(got)
	}
	hear(wire.NotificationToolsChanged)
	say(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
	hear(`"grown"`)
	expectOthers(t, nodes)
}

// expectOthers checks that nodes know when another one has another config.
func expectOthers(t *testing.T, nodes []*serving) {
	others := func() (other []string) { // as the node sees it that this process asks
		var clusters []clusterState
		if err := json.Unmarshal([]byte(printedBy(t, "nodes", "--json")), &clusters); err != nil {
			t.Fatal(err)
		}
		for _, n := range clusters[0].Nodes {
			if n.Other {
				other = append(other, n.Name)
			}
		}
		return other
	}
	if got := others(); got != nil {
		t.Errorf("%v have another config", got)
	}
	for _, text := range []string{"[ ]", "[]"} {
		if err := os.WriteFile(filepath.Join(nodes[1].dir, "own.tools.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for differ := text == "[ ]"; (len(others()) == 1) != differ; {
		}
	}
	path := filepath.Join(nodes[1].dir, "mcpbridge.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var without map[string]json.RawMessage
	if err := json.Unmarshal(text, &without); err != nil {
		t.Fatal(err)
	}
	delete(without, "cluster")
	if text, err = json.Marshal(without); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for len(others()) == 0 {
	}
}

// printedBy returns what a command prints, which is done.
func printedBy(t *testing.T, args ...string) string {
	t.Helper()
	var out, said strings.Builder
	if code := run(t.Context(), args, streams{in: strings.NewReader(""), out: &out, err: &said}); code != exitDone {
		t.Fatal(code, said.String())
	}
	return out.String()
}
