package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/engine"
	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest/peer"
)

// Draining says what came of which program.
func TestDrained(t *testing.T) {
	setFolders(t)
	nats, docs := fleettest.NATS(t), peer.NewServer(peer.Modern).Serve(t, nil)
	servers := fmt.Sprintf(`"mcpServers": {"docs": {"url": %q}}`, docs+"/mcp")
	for cluster, want := range map[string]string{
		"": "",
		fmt.Sprintf(`"cluster": {"name": "test", "node": "a", "secrets": [%q], "nats": %q}, `, fleettest.Secret, nats): "node a at ",
	} {
		s := serveConfig(t, "{"+cluster+servers+"}", nil)
		if got := printedBy(t, "drain", "--settle", "0s"); got != want+s.url+": ended; no call was running\n" {
			t.Errorf("%q at %s", got, s.url)
		}
		s.end()
	}
}

// The exit code says that calls were lost.
func TestDrainedTooSoon(t *testing.T) {
	setFolders(t)
	arrived := make(chan struct{})
	model := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else its end is not seen
		close(arrived)
		<-r.Context().Done()
	}))
	defer model.Close()
	s := serveConfig(t, fmt.Sprintf(`{"providers": {"f": {"type": "openai", "baseUrl": %q, "apiKey": "kkkkkkkk", "model": "m"}}, "mcpServers": {}}`, model.URL), nil)
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if resp, err := http.Post(s.url+"/v1/chat/completions", "application/json", strings.NewReader(completion("f/m", ""))); err == nil {
			resp.Body.Close()
		}
	}()
	<-arrived
	var out, said strings.Builder
	code := run(t.Context(), []string{"drain", "--settle", "0s", "--within", "10ms"}, streams{in: strings.NewReader(""), out: &out, err: &said})
	if want := "mcpbridge: " + s.url + ": ended with 1 call still running\n"; code != exitFailed || said.String() != want {
		t.Errorf("%d %s%s", code, out.String(), said.String())
	}
	<-answered
}

// A node whose name a later node has taken says so, and is not ready, whether or not it has been ready before.
func TestNameOfAnotherNode(t *testing.T) {
	setFolders(t)
	nats, docs := fleettest.NATS(t), peer.NewServer(peer.Modern).Serve(t, nil)
	s := serveConfig(t, fmt.Sprintf(`{"cluster": {"name": "test", "node": "a", "secrets": [%q], "nats": %q}, "mcpServers": {"docs": {"url": %q}}}`,
		fleettest.Secret, nats, docs+"/mcp"), nil)
	never := &cluster{name: "test", self: engine.Node{ID: "b", Extra: []byte(`{"secret":"another"}`)}, engine: fleettest.Engine(t, nats, "b")}
	never.engine.Announce(never.self)
	fleettest.Await(t, never.engine, 2)
	deadline := time.Now().Add(patience)
	until := func(done func() bool) {
		t.Helper()
		for !done() {
			if time.Now().After(deadline) {
				t.Fatal("that takes too long")
			}
		}
	}
	ready := func() (status int, said string) {
		resp, said := s.send(http.MethodGet, "/readyz", "")
		return resp.StatusCode, said
	}
	until(func() bool { status, _ := ready(); return status == http.StatusOK })
	until(func() bool { return strings.Contains(printedBy(t, "nodes"), "b     up, another secret ") })
	for _, name := range []string{"a", "b"} {
		fleettest.Engine(t, nats, name).Announce(engine.Node{})
	}
	until(func() bool {
		status, _ := ready()
		return status == http.StatusServiceUnavailable && never.engine.Superseded()
	})
	if _, said := ready(); !strings.Contains(said, "cluster: another node of the cluster has its name, a\n") {
		t.Error(said)
	}
	if got := printedBy(t, "nodes"); !strings.Contains(got, "cluster test (2 nodes as last known: another node of the cluster has its name, a)\n") {
		t.Error(got)
	}
	if got := never.unready(); got != "another node of the cluster has its name, b" {
		t.Error(got)
	}
}
