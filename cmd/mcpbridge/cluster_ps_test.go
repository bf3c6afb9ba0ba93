package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
	"github.com/mcpbridge/mcpbridge/bridge/wire"
	"github.com/mcpbridge/mcpbridge/mcpserver"
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

// The other nodes show which node a server is lent to.
func TestPsLent(t *testing.T) {
	setFolders(t)
	nats, token := fleettest.NATS(t), "token-of-ann-0123456789"
	var nodes []*serving
	for _, node := range []string{"a", "b"} {
		nodes = append(nodes, serveConfig(t, fmt.Sprintf(`{"tokens": {"ann": %q}, "cluster": {"name": "test", "node": %q, "secrets": [%q], "nats": %q}, "mcpServers": {"laptop": {"lender": "ann"}}}`, token, node, fleettest.Secret, nats), nil))
	}
	hub, err := url.Parse("ws" + strings.TrimPrefix(nodes[1].url, "http"))
	if err != nil {
		t.Fatal(err)
	}
	link := fleet.NewLender(fleet.LenderOptions{Hub: hub, Token: func() (string, error) { return token, nil }, Report: func(string, error) {}})
	served := make(chan error)
	go func() {
		served <- mcpserver.New(sourcetest.NewFake(), mcpserver.Options{}).Serve(context.Background(), link)
	}()
	defer func() {
		link.End()
		<-served
	}()
	table := ""
	for ; !strings.Contains(table, "node b has it"); table = printedBy(t, "ps", "--all") {
	}
	for line := range strings.Lines(table) {
		if f := strings.Fields(line); f[1] == "laptop" && strings.HasSuffix(line, "node b has it\n") != (f[0] == "a") {
			t.Error(line)
		}
	}
}
