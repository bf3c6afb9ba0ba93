package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// A client that comes through one node of a cluster is in a loop of bridges at each of them, and not at another cluster.
func TestLoopOfNodes(t *testing.T) {
	node := func(cluster string) *Stack {
		path := filepath.Join(t.TempDir(), config.FileName)
		text := fmt.Sprintf(`{"cluster": {"name": %q, "secrets": [%q], "nats": "nats://127.0.0.1:1"}}`, cluster, strings.Repeat("x", 32))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	info := bridge.InfoVia([]byte(`{}`), nil, []byte(`{"name":"mcpbridge","id":"`+node("a").id+`"}`))
	for cluster, looping := range map[string]bool{"a": true, "b": false} {
		session, err := node(cluster).Open(t.Context(), &bridge.Caller{Info: info})
		if (err != nil && strings.Contains(err.Error(), "a loop of bridges")) != looping {
			t.Errorf("cluster %s: %v", cluster, err)
		}
		if err == nil {
			session.Close()
		}
	}
}
