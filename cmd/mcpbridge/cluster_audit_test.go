package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
)

// The audits of all nodes are queried and verified together, with the node of each line, and a node that cannot answer is
// named.
func TestAuditOfNodes(t *testing.T) {
	setFolders(t)
	nats, docs := fleettest.NATS(t), peer.NewServer(peer.Modern).Serve(t, nil)
	var nodes []*serving
	for _, node := range []string{"a", "b"} {
		nodes = append(nodes, serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": %q, "secrets": [%q], "nats": %q},
			"mcpServers": {"docs": {"url": %q}}, "audit": "audit.jsonl"}`, node, fleettest.Secret, nats, docs+"/mcp"), nil))
	}
	for strings.Count(printedBy(t, "nodes", "--json"), `"name"`) < 2 { // one process has one place to be asked
	}
	for i, node := range nodes {
		name := fmt.Sprintf("tool%d<&>", i)
		_, body := node.request("tools/call", name, `"name":"`+name+`","arguments":{},`)
		for strings.Count(printedBy(t, "audit", "query", "--all", "--json"), "\n") <= i { // a line is written a moment later
			if t.Context().Err() != nil {
				t.Fatal(body)
			}
		}
	}
	lines := strings.Split(printedBy(t, "audit", "query", "--all", "--json"), "\n")
	for i, node := range nodes {
		text, err := os.ReadFile(filepath.Join(node.dir, "audit.jsonl"))
		if want := `{"cluster":"test","node":"` + string("ab"[i]) + `",` + strings.TrimSpace(string(text))[1:]; err != nil || lines[i] != want || !strings.Contains(want, fmt.Sprintf("tool%d<&>", i)) {
			t.Errorf("%s, %v, want %s", lines[i], err, want)
		}
	}
	if got := printedBy(t, "audit", "query", "--all", "--tool", "tool1*"); !strings.HasPrefix(got, "NODE  TIME") || !strings.Contains(got, "\nb     2") || strings.Contains(got, "\na ") {
		t.Error(got)
	}
	if got := printedBy(t, "audit", "verify", "--all"); got != "a: lines 1 to 1 are as they were written\nb: lines 1 to 1 are as they were written\n" {
		t.Error(got)
	}
	file := filepath.Join(nodes[1].dir, "audit.jsonl")
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, []byte(strings.Replace(string(text), "tool1", "tool2", 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out, said strings.Builder
	if code := run(t.Context(), []string{"audit", "verify", "--all"}, streams{in: strings.NewReader(""), out: &out, err: &said}); code != exitFailed || !strings.Contains(said.String(), "node b: "+file) {
		t.Error(code, said.String())
	}
}
