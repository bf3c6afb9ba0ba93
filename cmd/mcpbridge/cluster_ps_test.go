package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
)

// A node is shown with its cluster where there are several.
func TestShownNodes(t *testing.T) {
	for want, clusters := range map[string][]string{"a": {"one", "one"}, "one/a": {"one", "two", "one"}} {
		if got := shownNodes(clusters)("one", "a"); got != want {
			t.Errorf("of %v: %s", clusters, got)
		}
	}
}

// ps --all lists what runs on each node, once, and says which node does not answer.
func TestPsAll(t *testing.T) {
	setFolders(t)
	nats, docs := fleettest.NATS(t), peer.NewServer(peer.Modern).Serve(t, nil)
	for _, node := range []string{"a", "b"} {
		serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": %q, "secrets": [%q], "nats": %q}, "mcpServers": {"docs": {"url": %q}}}`, node, fleettest.Secret, nats, docs+"/mcp"), nil)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	own := fleettest.Engine(t, nats, "c")
	own.Announce(engine.Node{Address: "http://" + silent.Addr().String()})
	for strings.Count(printedBy(t, "nodes", "--json"), `"name"`) < 3 { // one process has one place to be asked
	}
	var names []string
	for raw := range wire.Elements([]byte(printedBy(t, "ps", "--all", "--json"))) {
		var st processState
		if err := json.Unmarshal(raw, &st); err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %d %s", st.Node, len(st.Servers), st.Away))
	}
	if got := strings.Join(names, ", "); got != "a 1 , b 1 , c 0 no answer within 2s" {
		t.Error(got)
	}
	table := printedBy(t, "ps", "--all")
	for _, want := range []string{"a: serve http://127.0.0.1:", "\nNODE  NAME  STATE", "\na     docs  ", "\nb     docs  ", "\nc     -     away"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	if got := printedBy(t, "ps"); strings.Contains(got, "NODE") {
		t.Error(got)
	}
}
