package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpbridge/mcpbridge/bridge/fleet/fleettest"
	"github.com/mcpbridge/mcpbridge/bridge/sourcetest"
	"github.com/mcpbridge/mcpbridge/cmd/mcpbridge/config"
)

// Where a reloaded config adds, changes or removes its cluster, the log says that a restart is needed, and serve goes on as before.
func TestClusterReloaded(t *testing.T) {
	setFolders(t)
	model := sourcetest.NewAPI(t, sourcetest.Answer(http.StatusOK, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":"Yes."},"finish_reason":"stop"}]}`))
	providers := fmt.Sprintf(`"providers": {"double":{"type":"openai","baseUrl":%q,"model":"m"}}`, model.URL)
	one := fmt.Sprintf(`{"cluster": {"name": "test", "secrets": [%q], "nats": %q}, %s}`, fleettest.Secret, fleettest.NATS(t), providers)
	for name, c := range map[string]struct{ before, after string }{
		"new":     {"{" + providers + "}", strings.Replace(one, `"secrets"`, `"history": true, "secrets"`, 1)},
		"changed": {one, strings.Replace(one, `"secrets": [`, `"history": true, "secrets": ["another-secret-of-all-nodes-0123456789", `, 1)},
		"removed": {one, "{" + providers + "}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serveConfig(t, c.before, nil)
			for _, text := range []string{c.after, c.before} {
				if err := os.WriteFile(filepath.Join(s.dir, config.FileName), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				awaitLog(s, "the config has been loaded again")
				if resp, body := s.send("POST", "/v1/responses", `{"model":"double","input":"Go!"}`); resp.StatusCode != http.StatusOK || !strings.Contains(body, "Yes.") {
					t.Errorf("%s %s", resp.Status, body)
				}
			}
			s.end()
			if n := strings.Count(s.log.text.String(), "cluster has changed"); n != 1 {
				t.Errorf("said %d times", n)
			}
		})
	}
}

// awaitLog waits until serve logs a text.
func awaitLog(s *serving, text string) {
	s.Helper()
	for !s.log.find(text) {
		if resp, body := s.send("GET", "/healthz", ""); resp.StatusCode != http.StatusOK {
			s.Fatal(body)
		}
	}
}
